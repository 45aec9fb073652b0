//! What the fuzz targets and their seeds share.

// The engine's tests load this file too.
#[path = "history.rs"]
pub mod history;
pub mod policies;
