//! Explains how an expression is parsed and bound, where it fails, and its results for a table's items.

use super::ControlRequest;
use super::items::read_cursor;
use crate::execute::ItemsQuery;
use crate::expression::{Bindings, ExpressionKind, Outcome, Outline, OutlineNode, OutlinePart};
use crate::request::{Query, Substitutions};
use crate::value::AttributeValue;
use crate::wire::control::{ControlError, ControlResult, shortened};
use crate::wire::decode::Decode;
use crate::wire::encode::Writer;
use crate::wire::object::Object;

const KINDS: [ExpressionKind; 5] = [
    ExpressionKind::Condition,
    ExpressionKind::Filter,
    ExpressionKind::KeyCondition,
    ExpressionKind::Projection,
    ExpressionKind::Update,
];

impl ControlRequest<'_> {
    /// Explains an expression, and evaluates it for the items of a page.
    pub fn explain_expression(&self, writer: &mut Writer) -> ControlResult<()> {
        let query = self.query;
        let kind = kind(query.text("kind"))?;
        let text = query.text("expression").unwrap_or_default();
        let substitutions = substitutions(query.text("names"), query.text("values"))?;
        let (account, table) = self.table()?;
        let limit = query.limit()?;
        let page = account.items_page(
            table,
            &ItemsQuery {
                index: query.text("index"),
                partition: None,
                after: query.text("after").map(read_cursor).transpose()?,
                skip: 0,
                limit,
            },
        )?;
        let mut object = Object::open(writer);
        object.string("kind", kind.name());
        object.string("expression", text);
        let mut scope = match Bindings::new(&substitutions, &self.twin.state.caches().expressions) {
            Ok(scope) => scope,
            Err(error) => {
                object.string("error", error.message().unwrap_or_default());
                object.list("nodes").close();
                object.list("items").close();
                object.close();
                return Ok(());
            }
        };
        let outline = scope.outline(kind, text);
        write_outline(text, &outline, &mut object);
        let mut items = object.list("items");
        let evaluated = if outline.error.is_none() {
            page.items.as_slice()
        } else {
            &[]
        };
        for stored in evaluated {
            let mut item = items.object();
            item.map("key", &stored.key);
            let outcomes = outline.evaluate(&stored.item.attributes());
            if let Some(Outcome::Truth(holds)) = outcomes.first() {
                item.boolean("holds", *holds);
            }
            let mut parts = item.list("parts");
            for outcome in &outcomes {
                write_outcome(outcome, parts.object());
            }
            parts.close();
            item.close();
        }
        items.close();
        object.close();
        Ok(())
    }
}

fn kind(named: Option<&str>) -> ControlResult<ExpressionKind> {
    let found = KINDS.into_iter().find(|kind| Some(kind.name()) == named);
    found.ok_or_else(|| {
        let names = KINDS.map(ExpressionKind::name).join(", ");
        ControlError::malformed(format!("kind must be one of {names}."))
    })
}

/// The substitutions of a request with these members, each in JSON.
fn substitutions(names: Option<&str>, values: Option<&str>) -> ControlResult<Substitutions> {
    let members = [
        ("ExpressionAttributeNames", names),
        ("ExpressionAttributeValues", values),
    ];
    let members = members.map(|(name, json)| json.map(|json| format!("\"{name}\":{json}")));
    let body = format!("{{{}}}", members.into_iter().flatten().collect::<Vec<_>>().join(","));
    let refused = |message: Option<&str>| {
        let message = shortened(message.unwrap_or("they are not valid JSON"));
        ControlError::malformed(format!("names and values cannot be read: {message}"))
    };
    let decoded = Query::decode(body.as_bytes()).map_err(|error| refused(error.message()))?;
    Ok(decoded.substitutions)
}

fn write_outline(text: &str, outline: &Outline<'_>, object: &mut Object<'_>) {
    if let Some(error) = &outline.error {
        object.string("error", &error.message);
        if let Some(range) = &error.range {
            let mut at = object.object("at");
            write_range(text, range, &mut at);
            at.close();
        }
    }
    let mut nodes = object.list("nodes");
    for node in &outline.nodes {
        write_node(text, node, nodes.object());
    }
    nodes.close();
}

fn write_node(text: &str, node: &OutlineNode, mut object: Object<'_>) {
    object.integer("depth", node.depth as i64);
    match &node.part {
        OutlinePart::Logic(word) => object.string("logic", word),
        OutlinePart::Operator(operator) => object.string("operator", operator.name()),
        OutlinePart::Action(section) => object.string("action", section),
        OutlinePart::Path(path) => object.string("path", path),
        OutlinePart::Value(Some(value)) => write_value("value", value, &mut object),
        OutlinePart::Value(None) => {}
    }
    write_range(text, &node.range, &mut object);
    object.close();
}

/// Writes a range of a text, in UTF-16 units, as JavaScript and the service count.
fn write_range(text: &str, range: &std::ops::Range<usize>, object: &mut Object<'_>) {
    let units = |end: usize| text.get(..end).unwrap_or(text).encode_utf16().count() as i64;
    object.integer("start", units(range.start));
    object.integer("end", units(range.end));
}

fn write_outcome(outcome: &Outcome, mut object: Object<'_>) {
    match outcome {
        Outcome::Truth(holds) => object.boolean("holds", *holds),
        Outcome::Value(Some(value)) => write_value("value", value, &mut object),
        Outcome::Value(None) => object.boolean("absent", true),
        Outcome::Nothing => {}
    }
    object.close();
}

fn write_value(name: &str, value: &AttributeValue, object: &mut Object<'_>) {
    object.member(name).value(value);
}
