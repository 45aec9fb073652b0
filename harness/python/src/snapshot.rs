//! Snapshots of an engine's state.

use dynatwin_engine::StateSnapshot;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// The state of an engine at one moment. It shares its items with the engines that it was taken from and restored into.
#[pyclass(frozen, module = "dynatwin._dynatwin")]
pub struct Snapshot(pub(crate) StateSnapshot);

#[pymethods]
impl Snapshot {
    /// Returns the snapshot as bytes, which every build of Dynatwin reads.
    fn __bytes__<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &py.detach(|| self.0.to_bytes()))
    }

    /// Decodes a snapshot that `to_bytes` encoded.
    #[staticmethod]
    fn from_bytes(py: Python<'_>, bytes: &[u8]) -> PyResult<Snapshot> {
        let snapshot = py.detach(|| StateSnapshot::from_bytes(bytes));
        snapshot
            .map(Snapshot)
            .map_err(|error| PyValueError::new_err(error.to_string()))
    }
}
