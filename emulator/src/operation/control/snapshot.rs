//! The controls of snapshots: the whole state as bytes.

use super::ControlRequest;
use crate::limits;
use crate::storage::{RestoreError, StateSnapshot};
use crate::wire::control::{ControlError, ControlResult};
use crate::wire::encode::Writer;

impl ControlRequest<'_> {
    /// Writes a snapshot of the present state.
    pub fn get_snapshot(&self, writer: &mut Writer) -> ControlResult<()> {
        let bytes = self.twin.snapshot().to_bytes_within(limits::SNAPSHOT);
        let bytes = bytes.ok_or_else(|| {
            let most = limits::SNAPSHOT;
            ControlError::too_large(format!("The snapshot has more than {most} bytes."))
        })?;
        *writer = Writer::from(bytes);
        Ok(())
    }

    /// Replaces the state by that of a snapshot.
    pub fn restore_snapshot(&self, writer: &mut Writer) -> ControlResult<()> {
        let snapshot = StateSnapshot::from_bytes(self.bytes);
        let snapshot = snapshot.map_err(|error| ControlError::malformed(format!("The body is {error}.")))?;
        self.twin.restore(&snapshot).map_err(|error| match error {
            RestoreError::Inconsistent(error) => {
                ControlError::malformed(format!("The snapshot is inconsistent: {error}."))
            }
            RestoreError::Refused(error) => {
                ControlError::unavailable(format!("The snapshot was not restored: {error}."))
            }
        })?;
        self.get_overview(writer)
    }
}
