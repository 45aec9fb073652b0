//! Texts about exports, imports and bulk operations.

use super::{ApiError, ErrorKind};

impl ApiError {
    /// A span that cannot be exported.
    pub fn invalid_export_time(text: impl Into<std::borrow::Cow<'static, str>>) -> ApiError {
        ApiError::new(ErrorKind::InvalidExportTime, text)
    }

    /// A client token that was used for another export.
    pub fn export_conflict() -> ApiError {
        ApiError::new(
            ErrorKind::ExportConflict,
            "Export conflict: Duplicate request detected with conflicting parameters",
        )
    }

    /// A client token that was used for another import. The class is recorded, the sentence is not.
    pub fn import_conflict() -> ApiError {
        ApiError::new(
            ErrorKind::ImportConflict,
            "Import conflict: Duplicate request detected with conflicting parameters",
        )
    }

    /// The export does not exist.
    pub fn export_not_found(arn: &str) -> ApiError {
        ApiError::new(ErrorKind::ExportNotFound, format!("Export not found: {arn}"))
    }

    /// The import does not exist.
    pub fn import_not_found(arn: &str) -> ApiError {
        ApiError::new(ErrorKind::ImportNotFound, format!("Import not found: {arn}"))
    }

    /// The bulk operation does not exist.
    pub fn bulk_operation_not_found(arn: &str) -> ApiError {
        ApiError::new(
            ErrorKind::ResourceNotFound,
            format!("Requested resource not found: Bulk operation: {arn} not found"),
        )
    }
}
