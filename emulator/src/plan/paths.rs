//! Document paths, checked against the keys of a table.

use smallvec::SmallVec;

use crate::error::ApiError;
use crate::expression::Path;
use crate::schema::Definition;

/// Rejects paths below key attributes, of the table or of any of its indexes. The table's are reported first, in the order
/// of its key (docs/behavior: 05 2.4).
pub fn check_below_keys<'p>(definition: &Definition, paths: impl Iterator<Item = Path<'p>>) -> Result<(), ApiError> {
    let nested: SmallVec<[&str; 4]> = paths.filter(Path::is_nested).map(|path| path.name()).collect();
    if nested.is_empty() {
        return Ok(());
    }
    let of_table = definition.key.attributes().map(|attribute| (false, &attribute.name));
    let of_indexes = definition.indexes().flat_map(|index| index.key.attributes());
    let of_indexes = of_indexes.map(|attribute| (true, &attribute.name));
    match of_table
        .chain(of_indexes)
        .find(|(_, name)| nested.contains(&name.as_str()))
    {
        Some((of_index, name)) => Err(ApiError::path_below_key(of_index, name)),
        None => Ok(()),
    }
}
