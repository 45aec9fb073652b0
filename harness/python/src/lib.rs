//! The engine for Python: a class over [`dynatwin_engine::Engine`], and the server's command line. The package
//! around it is in `python/dynatwin`.
//!
//! Controls go through [`Engine::handle`] in the format of the controls over HTTP, so a new control needs no code here.

mod engine;
mod snapshot;

use dynatwin_engine::Engine;
use pyo3::prelude::*;
use std::sync::Arc;

/// The native module. It holds no Python state outside its objects, and the engine synchronizes itself, so it needs no
/// GIL.
#[pymodule(gil_used = false)]
mod _dynatwin {
    use super::*;

    #[pymodule_export]
    use super::engine::{Meter, PyEngine};
    #[pymodule_export]
    use super::snapshot::Snapshot;

    /// Runs the `dynatwin` command with these arguments until SIGINT or SIGTERM; returns its exit code.
    #[pyfunction]
    fn main(py: Python<'_>, arguments: Vec<String>) -> u8 {
        py.detach(|| dynatwin_server::run(arguments, no_limit))
    }

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}

/// Refuses `--max-memory`, because Python's allocator does not count the engine's memory.
fn no_limit(_: Arc<Engine>, _: u64) -> Result<Option<String>, String> {
    Err("--max-memory is not available in the Python package".into())
}
