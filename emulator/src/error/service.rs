//! Texts that no operation owns: of the service as a whole, and of this emulator.

use super::{ApiError, ErrorKind};

impl ApiError {
    /// A failure of the service itself.
    pub fn internal() -> ApiError {
        ApiError::new(ErrorKind::InternalServerError, "Internal server error")
    }

    /// A write while the emulator's memory limit is reached.
    pub fn out_of_memory() -> ApiError {
        ApiError::new(
            ErrorKind::InternalServerError,
            "The memory limit (--max-memory) is reached: writes that store more fail, reads and deletes continue.",
        )
    }

    /// The service cannot be reached.
    pub fn unavailable() -> ApiError {
        ApiError::new(ErrorKind::ServiceUnavailable, "Service is temporarily unavailable")
    }
}
