//! Texts about updates that depend on the stored item.

use super::ApiError;
use crate::number::NumberError;

impl ApiError {
    /// A path through a missing attribute, or one that is not a map or list.
    pub fn document_path() -> ApiError {
        ApiError::validation("The document path provided in the update expression is invalid for update")
    }

    /// An operand that reads an attribute that the item does not have.
    pub fn missing_operand() -> ApiError {
        ApiError::validation("The provided expression refers to an attribute that does not exist in the item")
    }

    /// An operand of the wrong type.
    pub fn operand_type() -> ApiError {
        ApiError::validation("An operand in the update expression has an incorrect data type")
    }

    /// A legacy update of a stored value of another type.
    pub fn update_type_mismatch() -> ApiError {
        ApiError::validation("Type mismatch for attribute to update")
    }

    /// An arithmetic result that cannot be stored.
    pub fn arithmetic(error: NumberError) -> ApiError {
        ApiError::validation(ApiError::number_text(error, "", false))
    }
}
