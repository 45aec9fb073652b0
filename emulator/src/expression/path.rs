//! Document paths with their names resolved, and the rules about overlapping paths.

use std::cmp::Ordering;
use std::fmt;

use smallvec::SmallVec;

use super::ast::{Element, Span};
use super::bind::Bound;
use super::error;
use crate::sort;
use crate::value::{AttributeValue, Map, Name};

/// One element of a path: `a`, or `[1]`. Positions sort before names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PathElement<'a> {
    /// A position in a list.
    Index(usize),
    /// A name in a map, or of an attribute.
    Name(&'a str),
}

impl fmt::Display for PathElement<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PathElement::Index(index) => write!(formatter, "[{index}]"),
            PathElement::Name(name) => formatter.write_str(name),
        }
    }
}

/// A document path of a bound expression. It prints as the service prints it: `[a, b, [1]]`.
#[derive(Clone, Copy)]
pub struct Path<'a> {
    literals: &'a [Name],
    names: &'a [Option<&'a str>],
    elements: &'a [Element],
}

impl<'a> Path<'a> {
    pub(super) fn new(bound: &'a Bound<'_>, span: Span) -> Path<'a> {
        Path {
            literals: &bound.parsed.literals,
            names: &bound.names,
            elements: span.of(&bound.parsed.elements),
        }
    }

    fn resolve(&self, element: Element) -> PathElement<'a> {
        match element {
            Element::Literal(at) => PathElement::Name(&self.literals[at as usize]),
            Element::Alias(at) => PathElement::Name(self.names[at as usize].unwrap_or_default()),
            Element::Index(index) => PathElement::Index(index as usize),
        }
    }

    /// The attribute the path begins with.
    pub fn name(&self) -> &'a str {
        match self.elements.first().map(|element| self.resolve(*element)) {
            Some(PathElement::Name(name)) => name,
            _ => "",
        }
    }

    /// Whether the path leads into the attribute.
    pub fn is_nested(&self) -> bool {
        self.elements.len() > 1
    }

    /// How many elements the path has.
    pub(super) fn len(&self) -> usize {
        self.elements.len()
    }

    /// The elements, of which the first is a name.
    pub fn elements(&self) -> impl DoubleEndedIterator<Item = PathElement<'a>> + ExactSizeIterator + use<'a> {
        let path = *self;
        self.elements.iter().map(move |element| path.resolve(*element))
    }

    pub(super) fn element(&self, at: usize) -> PathElement<'a> {
        self.resolve(self.elements[at])
    }

    /// The path without its last element, and the last element.
    pub(super) fn split_last(&self) -> Option<(Path<'a>, PathElement<'a>)> {
        let (last, elements) = self.elements.split_last()?;
        let parent = Path { elements, ..*self };
        Some((parent, self.resolve(*last)))
    }

    /// The value at the path; a step through a wrong type, or past a list's end, finds nothing.
    pub(super) fn find<'m>(&self, map: &'m Map) -> Option<&'m AttributeValue> {
        let mut elements = self.elements();
        let PathElement::Name(name) = elements.next()? else {
            return None;
        };
        elements.try_fold(map.get(name)?, step)
    }

    /// The value at the path, to change.
    pub(super) fn find_mut<'m>(&self, map: &'m mut Map) -> Option<&'m mut AttributeValue> {
        let mut elements = self.elements();
        let PathElement::Name(name) = elements.next()? else {
            return None;
        };
        elements.try_fold(map.get_mut(name)?, |value, element| match (value, element) {
            (AttributeValue::M(map), PathElement::Name(name)) => map.get_mut(name),
            (AttributeValue::L(list), PathElement::Index(index)) => list.get_mut(index),
            _ => None,
        })
    }
}

/// One step from a value to a part of it.
pub(super) fn step<'m>(value: &'m AttributeValue, element: PathElement<'_>) -> Option<&'m AttributeValue> {
    match (value, element) {
        (AttributeValue::M(map), PathElement::Name(name)) => map.get(name),
        (AttributeValue::L(list), PathElement::Index(index)) => list.get(index),
        _ => None,
    }
}

impl PartialEq for Path<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.elements().eq(other.elements())
    }
}

impl Eq for Path<'_> {}

impl PartialOrd for Path<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Path<'_> {
    /// Compares element by element: everything below a path sorts directly after it.
    fn cmp(&self, other: &Self) -> Ordering {
        self.elements().cmp(other.elements())
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, element) in self.elements().enumerate() {
            write!(formatter, "{}{element}", if at == 0 { "[" } else { ", " })?;
        }
        formatter.write_str("]")
    }
}

/// The relation of two paths.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Relation {
    Apart,
    /// One is the other, or leads into it.
    Overlap,
    /// One path treats as a list what the other treats as a map.
    Conflict,
}

fn relation(one: &Path<'_>, two: &Path<'_>) -> Relation {
    match one.elements().zip(two.elements()).find(|(left, right)| left != right) {
        None => Relation::Overlap,
        Some((PathElement::Index(_), PathElement::Name(_)) | (PathElement::Name(_), PathElement::Index(_))) => {
            Relation::Conflict
        }
        Some(_) => Relation::Apart,
    }
}

/// With more paths than this, sorting them is faster than comparing each with all others.
const FEW: usize = 4;

/// Checks that no two paths overlap or conflict.
pub(super) fn check_apart(bound: &Bound<'_>, spans: impl ExactSizeIterator<Item = Span> + Clone) -> Result<(), String> {
    let names = spans.clone().map(|span| Path::new(bound, span).name());
    let has_own_name = |(at, name)| names.clone().take(at).all(|other: &str| other != name);
    if spans.len() <= FEW && names.clone().enumerate().all(has_own_name) {
        return Ok(());
    }
    sorted(bound, spans).map(drop)
}

/// The order of paths that sorts them, if no two of them overlap or conflict: indexes into `spans`.
pub(super) fn sorted(
    bound: &Bound<'_>,
    spans: impl ExactSizeIterator<Item = Span>,
) -> Result<SmallVec<[u32; 8]>, String> {
    let paths: SmallVec<[Path<'_>; 8]> = spans.map(|span| Path::new(bound, span)).collect();
    let mut order: SmallVec<[u32; 8]> = (0..paths.len() as u32).collect();
    let path = |at: u32| paths[at as usize];
    sort::sort_by(&mut order, |left, right| path(*left).cmp(&path(*right)));
    let apart = |pair: &[u32]| relation(&path(pair[0]), &path(pair[1])) == Relation::Apart;
    if order.windows(2).all(apart) {
        return Ok(order);
    }
    for unwanted in [Relation::Overlap, Relation::Conflict] {
        // Overlapping or conflicting paths are adjacent in the sorted order. The service checks from the last path
        // backwards.
        let pairs = order
            .windows(2)
            .filter(|pair| relation(&path(pair[0]), &path(pair[1])) == unwanted);
        let found = pairs.map(|pair| (pair[0].min(pair[1]), pair[0].max(pair[1]))).max();
        if let Some((one, two)) = found {
            let (one, two) = (path(one), path(two));
            return Err(match unwanted {
                Relation::Conflict => error::paths_conflict(one, two),
                _ => error::paths_overlap(one, two),
            });
        }
    }
    Ok(order)
}

#[cfg(test)]
mod tests {
    use crate::expression::{Bindings, Cache, ExpressionKind};
    use crate::request::Substitutions;

    #[test]
    fn a_path_has_its_name_and_elements() {
        let (cache, substitutions) = (Cache::new(), Substitutions::default());
        let mut scope = Bindings::new(&substitutions, &cache).unwrap();
        let condition = scope
            .condition(ExpressionKind::Filter, "attribute_exists(a.b[1])")
            .unwrap();
        let path = condition.paths().next().unwrap();
        assert_eq!((path.name(), path.is_nested()), ("a", true));
        assert_eq!(path.to_string(), "[a, b, [1]]");
    }
}
