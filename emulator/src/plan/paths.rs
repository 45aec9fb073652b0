//! Document paths, checked against the keys of a table.

use smallvec::SmallVec;

use crate::error::ApiError;
use crate::expression::Path;
use crate::schema::Definition;

/// Rejects paths below key attributes, of the table or of any of its indexes. The table's are reported first, in the order
/// of its key (docs/behavior: 02 7).
#[inline]
pub fn check_below_keys<'p>(definition: &Definition, paths: impl Iterator<Item = Path<'p>>) -> Result<(), ApiError> {
    let mut nested = paths.filter(Path::is_nested).peekable();
    match nested.peek() {
        Some(_) => check_nested(definition, nested.map(|path| path.name()).collect()),
        None => Ok(()),
    }
}

/// Rejects paths below these attributes, if they are key attributes.
#[cold]
fn check_nested(definition: &Definition, nested: SmallVec<[&str; 4]>) -> Result<(), ApiError> {
    let of_table = definition.key.attributes().map(|attribute| (false, &attribute.name));
    let of_indexes = definition.indexes().flat_map(|index| index.key.attributes());
    let of_indexes = of_indexes.map(|attribute| (true, &attribute.name));
    let mut keys = of_table.chain(of_indexes);
    match keys.find(|(_, name)| nested.contains(&name.as_str())) {
        Some((of_index, name)) => Err(ApiError::path_below_key(of_index, name)),
        None => Ok(()),
    }
}
