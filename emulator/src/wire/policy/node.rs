//! The JSON of a policy document as a tree.

use crate::wire::encode::Writer;
use crate::wire::reader::{Reader, SyntaxError, Token};

/// A JSON value of a policy document. Numbers and flags become texts, as the policy language treats them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Node {
    /// A string, number or flag.
    Text(String),
    List(Vec<Node>),
    /// An object: its members in the order sent, repeated ones included.
    Object(Vec<(String, Node)>),
}

impl Node {
    /// Parses a whole text as one value of at most `depth` levels; `None` if it is not strict JSON, too deep or has a null.
    pub fn parse(text: &str, depth: usize) -> Option<Node> {
        let mut reader = Reader::new(text.as_bytes()).ok()?;
        let node = read(&mut reader, depth).ok()?;
        reader.end().ok()?;
        Some(node)
    }

    /// The text, if it is one.
    pub fn text(&self) -> Option<&str> {
        if let Node::Text(text) = self { Some(text) } else { None }
    }

    /// The texts of a text or a list of texts; `None` for any other node.
    pub fn texts(&self) -> Option<Vec<&str>> {
        match self {
            Node::Text(text) => Some(vec![text]),
            Node::List(list) => list.iter().map(Node::text).collect(),
            Node::Object(_) => None,
        }
    }

    /// The members of an object.
    pub fn members(&self) -> Option<&[(String, Node)]> {
        if let Node::Object(members) = self {
            Some(members)
        } else {
            None
        }
    }

    /// The value as JSON, without blanks.
    pub fn to_json(&self) -> String {
        let mut writer = Writer::new();
        self.write(&mut writer);
        String::from_utf8(writer.finish()).unwrap_or_default()
    }

    fn write(&self, writer: &mut Writer) {
        match self {
            Node::Text(text) => {
                writer.string(text);
            }
            Node::List(list) => {
                writer.open_list();
                list.iter().for_each(|each| each.write(writer));
                writer.close_list();
            }
            Node::Object(members) => {
                writer.open_object();
                for (name, node) in members {
                    writer.name(name);
                    node.write(writer);
                }
                writer.close_object();
            }
        }
    }

    /// The first member of this name of an object.
    pub fn member(&self, name: &str) -> Option<&Node> {
        member(self.members()?, name)
    }
}

/// The first member of this name.
pub(super) fn member<'n>(members: &'n [(String, Node)], name: &str) -> Option<&'n Node> {
    members.iter().find(|(there, _)| there == name).map(|(_, node)| node)
}

fn read(reader: &mut Reader<'_>, depth: usize) -> Result<Node, SyntaxError> {
    let deeper = depth.checked_sub(1).ok_or(SyntaxError)?;
    match reader.peek()? {
        Token::String => Ok(Node::Text(reader.string()?.into_owned())),
        Token::Number => Ok(Node::Text(reader.number()?.to_owned())),
        Token::True => reader.word("true").map(|()| Node::Text("true".to_owned())),
        Token::False => reader.word("false").map(|()| Node::Text("false".to_owned())),
        Token::Null => Err(SyntaxError),
        Token::List => {
            let mut list = Vec::new();
            reader.enter()?;
            while reader.element(list.is_empty())? {
                list.push(read(reader, deeper)?);
            }
            Ok(Node::List(list))
        }
        Token::Object => {
            let mut members: Vec<(String, Node)> = Vec::new();
            reader.enter()?;
            while let Some(name) = reader.member(members.is_empty())? {
                members.push((name.into_owned(), read(reader, deeper)?));
            }
            Ok(Node::Object(members))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_is_parsed_to_a_depth() {
        let node = Node::parse(r#"{"Resource": ["*"], "Limit": 5}"#, 8).unwrap();
        assert_eq!(node.member("Limit").and_then(Node::text), Some("5"));
        assert!(Node::parse("[[[]]]", 2).is_none());
    }
}
