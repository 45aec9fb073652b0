//! The definitions of vector indexes.

use super::{KeySchema, Projection, ScalarType};
use crate::value::Name;

/// How near two vectors are to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Distance {
    /// One less the cosine of the angle between them.
    Cosine,
    /// The sum of the products of their elements.
    DotProduct,
    /// The length of their difference.
    Euclidean,
}

impl Distance {
    /// The name on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Distance::Cosine => "COSINE",
            Distance::DotProduct => "DOT_PRODUCT",
            Distance::Euclidean => "EUCLIDEAN",
        }
    }

    /// The distance of this name.
    pub fn from_name(name: &str) -> Option<Distance> {
        [Distance::Cosine, Distance::DotProduct, Distance::Euclidean]
            .into_iter()
            .find(|distance| distance.name() == name)
    }
}

/// An attribute by which a search can be narrowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchAttribute {
    pub name: Name,
    pub kind: ScalarType,
    /// Whether it divides the index, so that each search names its value (`HASH`); if not it is an `INLINE_FILTER`.
    pub hash: bool,
}

impl SearchAttribute {
    pub const fn role(&self) -> &'static str {
        if self.hash { "HASH" } else { "INLINE_FILTER" }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VectorIndex {
    pub name: Name,
    /// The attribute with the vector.
    pub attribute: Name,
    /// The attributes that searches can name, in the order given.
    pub search: Vec<SearchAttribute>,
    pub projection: Projection,
    /// The elements of its vectors.
    pub dimensions: usize,
    pub distance: Distance,
}

impl VectorIndex {
    /// The attribute that divides the index, if one does.
    pub fn hash(&self) -> Option<&SearchAttribute> {
        self.search.iter().find(|attribute| attribute.hash)
    }

    /// The search attribute of this name.
    pub fn search_attribute(&self, name: &str) -> Option<&SearchAttribute> {
        self.search.iter().find(|attribute| attribute.name == name)
    }

    /// Whether the index stores this attribute besides the vector, given the table's key.
    pub fn projects(&self, name: &str, table: &KeySchema) -> bool {
        match &self.projection {
            Projection::All => true,
            Projection::Include(names) if names.binary_search_by(|each| each.as_str().cmp(name)).is_ok() => true,
            Projection::Include(_) | Projection::KeysOnly => {
                table.contains(name) || self.search_attribute(name).is_some()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::KeyAttribute;

    #[test]
    fn a_distance_has_its_name() {
        for (distance, name) in [
            (Distance::Cosine, "COSINE"),
            (Distance::DotProduct, "DOT_PRODUCT"),
            (Distance::Euclidean, "EUCLIDEAN"),
        ] {
            assert_eq!((distance.name(), Distance::from_name(name)), (name, Some(distance)));
        }
        assert_eq!(Distance::from_name("cosine"), None);
    }

    #[test]
    fn attributes_of_entries() {
        let attribute = |name: &str| KeyAttribute {
            name: name.into(),
            kind: ScalarType::S,
        };
        let table = KeySchema::new([attribute("pk")], [attribute("sk")]);
        let search = |name: &str, hash: bool| SearchAttribute {
            name: name.into(),
            kind: ScalarType::S,
            hash,
        };
        let names = ["pk", "sk", "h", "f", "a", "b"];
        for (projection, expect) in [
            (Projection::All, [true; 6]),
            (Projection::KeysOnly, [true, true, true, true, false, false]),
            (
                Projection::Include(vec!["b".into()]),
                [true, true, true, true, false, true],
            ),
        ] {
            let index = VectorIndex {
                name: "v".into(),
                attribute: "vector".into(),
                search: vec![search("f", false), search("h", true)],
                projection,
                dimensions: 2,
                distance: Distance::Cosine,
            };
            assert_eq!(names.map(|name| index.projects(name, &table)), expect, "{index:?}");
            assert_eq!(index.hash().map(|hash| hash.name.as_str()), Some("h"));
            assert_eq!(
                index.search_attribute("f").map(SearchAttribute::role),
                Some("INLINE_FILTER")
            );
            assert_eq!(index.search_attribute("h").map(SearchAttribute::role), Some("HASH"));
            assert_eq!(index.search_attribute("a"), None);
        }
    }
}
