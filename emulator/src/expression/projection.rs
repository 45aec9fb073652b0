//! Projections: the parts of an item at given paths.

use smallvec::SmallVec;

use super::ast::{Body, Span};
use super::bind::{AttributeNames, Bound};
use super::path::{self, Path, PathElement, step};
use crate::value::{AttributeValue, Item, Map, Name};

/// A projection bound to a request's names.
#[derive(Clone)]
pub struct Projection<'r> {
    bound: Bound<'r>,
    spans: SmallVec<[Span; 8]>,
}

impl<'r> Projection<'r> {
    /// The projection, unless two of its paths are at odds.
    pub(super) fn new(bound: Bound<'r>) -> Result<Projection<'r>, String> {
        let written: &[Span] = match &bound.parsed.body {
            Body::Projection(paths) => paths,
            _ => &[],
        };
        let order = path::sorted(&bound, written.iter().copied())?;
        let spans = order.iter().map(|at| written[*at as usize]).collect();
        Ok(Projection { bound, spans })
    }

    /// The parts of the item that the paths lead to. Elements of a list close up, in the list's order.
    pub fn apply(&self, item: &Map) -> Map {
        let paths: SmallVec<[Path<'_>; 8]> = self.paths().collect();
        project(item, &paths)
    }

    /// The parts of a stored item that the paths lead to.
    pub fn apply_to(&self, item: &Item) -> Map {
        let paths: SmallVec<[Path<'_>; 8]> = self.paths().collect();
        project_item(item, &paths)
    }

    /// The values at the paths, in the order in which they are written.
    pub fn values<'m>(&self, item: &'m Map) -> impl Iterator<Item = Option<&'m AttributeValue>> {
        self.written()
            .iter()
            .map(|span| Path::new(&self.bound, *span).find(item))
    }

    fn written(&self) -> &[Span] {
        match &self.bound.parsed.body {
            Body::Projection(paths) => paths,
            _ => &[],
        }
    }

    pub fn paths(&self) -> impl Iterator<Item = Path<'_>> {
        self.spans.iter().map(|span| Path::new(&self.bound, *span))
    }

    /// The attributes the paths begin with, in the order written.
    pub fn names_as_written(&self) -> impl Iterator<Item = &str> {
        self.written().iter().map(|span| Path::new(&self.bound, *span).name())
    }

    /// The attributes the paths begin with, sorted, each once.
    pub fn top_level_names(&self) -> impl Iterator<Item = &str> {
        let mut last = None;
        self.paths()
            .map(|path| path.name())
            .filter(move |name| last.replace(*name) != Some(*name))
    }
}

/// The parts of `item` at these sorted paths, none of which is a prefix of another.
pub(super) fn project(item: &Map, paths: &[Path<'_>]) -> Map {
    Map::from_entries(named_parts(paths, 0, |name| item.get(name)))
}

/// Projects a stored item, of which only the attributes that the paths begin with are decoded.
pub(super) fn project_item(item: &Item, paths: &[Path<'_>]) -> Map {
    let mut names = AttributeNames::new();
    paths.iter().for_each(|path| names.add(path.name()));
    project(&item.pick(&names), paths)
}

/// The parts of a value at `paths`, from their element `depth` on. Paths have at most 32 elements, which bounds the
/// recursion.
fn part(value: &AttributeValue, paths: &[Path<'_>], depth: usize) -> Option<AttributeValue> {
    if paths.iter().any(|path| path.len() == depth) {
        return Some(value.clone());
    }
    match value {
        AttributeValue::M(map) => {
            let entries = named_parts(paths, depth, |name| map.get(name));
            (!entries.is_empty()).then(|| AttributeValue::M(Map::from_entries(entries)))
        }
        AttributeValue::L(_) => {
            let groups = groups(paths, depth);
            let parts = groups.filter_map(|(element, group)| part(step(value, element)?, group, depth + 1));
            let list: Vec<AttributeValue> = parts.collect();
            (!list.is_empty()).then_some(AttributeValue::L(list))
        }
        _ => None,
    }
}

fn named_parts<'m>(
    paths: &[Path<'_>],
    depth: usize,
    get: impl Fn(&str) -> Option<&'m AttributeValue>,
) -> Vec<(Name, AttributeValue)> {
    let mut entries = Vec::with_capacity(paths.len());
    for (element, group) in groups(paths, depth) {
        if let PathElement::Name(name) = element
            && let Some(part) = get(name).and_then(|value| part(value, group, depth + 1))
        {
            entries.push((Name::new(name), part));
        }
    }
    entries
}

/// Sorted paths in groups with the same element at `depth`.
fn groups<'p, 'a>(paths: &'p [Path<'a>], depth: usize) -> impl Iterator<Item = (PathElement<'a>, &'p [Path<'a>])> {
    paths
        .chunk_by(move |left, right| left.element(depth) == right.element(depth))
        .map(move |group| (group[0].element(depth), group))
}
