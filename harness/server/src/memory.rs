//! Keeps what the process has allocated near `--max-memory`: beyond it, the engine stores no more.

use std::sync::Arc;

use dynatwin_engine::engine::Engine;

/// Watches the allocator from now on. The text of an error is for the operator.
#[cfg(all(feature = "jemalloc", not(target_env = "msvc")))]
pub fn limit(engine: Arc<Engine>, bytes: u64) -> Result<(), String> {
    use std::thread;
    use std::time::Duration;

    use tikv_jemalloc_ctl::{epoch, stats};

    /// Between two looks: what is written meanwhile is stored.
    const PAUSE: Duration = Duration::from_millis(20);

    let allocated = || {
        epoch::advance()?;
        stats::allocated::read()
    };
    allocated().map_err(|error| format!("--max-memory: the allocator counts nothing: {error}"))?;
    let watching = thread::Builder::new().name("dynatwin-memory".into()).spawn(move || {
        while let Ok(allocated) = allocated() {
            engine.refuse_growth(allocated as u64 > bytes);
            thread::sleep(PAUSE);
        }
    });
    watching
        .map(drop)
        .map_err(|error| format!("--max-memory: no thread can be started: {error}"))
}

/// Refuses the flag: only jemalloc counts what is allocated.
#[cfg(not(all(feature = "jemalloc", not(target_env = "msvc"))))]
pub fn limit(_: Arc<Engine>, _: u64) -> Result<(), String> {
    Err("--max-memory is not available in this build".into())
}
