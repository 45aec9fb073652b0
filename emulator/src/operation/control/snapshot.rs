//! The controls of snapshots: the whole state as bytes.

use super::{ControlRequest, overview};
use crate::limits;
use crate::storage::{RestoreError, StateSnapshot};
use crate::wire::control::{ControlError, ControlResult};
use crate::wire::encode::Writer;

/// Writes a snapshot of the present state.
pub fn show(requested: &ControlRequest<'_>, writer: &mut Writer) -> ControlResult<()> {
    let bytes = requested.twin.snapshot().to_bytes_within(limits::SNAPSHOT);
    let bytes = bytes.ok_or_else(|| {
        let most = limits::SNAPSHOT;
        ControlError::too_large(format!("The snapshot has more than {most} bytes."))
    })?;
    *writer = Writer::from(bytes);
    Ok(())
}

/// Replaces the state by that of a snapshot.
pub fn restore(requested: &ControlRequest<'_>, writer: &mut Writer) -> ControlResult<()> {
    let snapshot = StateSnapshot::from_bytes(requested.bytes);
    let snapshot = snapshot.map_err(|error| ControlError::malformed(format!("The body is {error}.")))?;
    requested.twin.restore(&snapshot).map_err(|error| match error {
        RestoreError::Inconsistent(error) => ControlError::malformed(format!("The snapshot is inconsistent: {error}.")),
        RestoreError::Refused(error) => ControlError::unavailable(format!("The snapshot was not restored: {error}.")),
    })?;
    overview::show(requested, writer)
}
