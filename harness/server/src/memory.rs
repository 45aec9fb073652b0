//! Keeps the process's allocated memory near `--max-memory`: beyond it, the engine stores no more.

use std::sync::Arc;

use dynatwin_engine::Engine;

/// Starts a thread that reads the allocator's statistics. Returns a warning if the limit is exceeded already. An error is a
/// sentence for the operator.
#[cfg(all(feature = "jemalloc", not(target_env = "msvc")))]
pub fn limit(engine: Arc<Engine>, bytes: u64) -> Result<Option<String>, String> {
    use std::thread;
    use std::time::Duration;

    use tikv_jemalloc_ctl::{epoch, stats};

    /// The interval between two reads; data written in between is stored even beyond the limit.
    const PAUSE: Duration = Duration::from_millis(20);

    let allocated = || {
        epoch::advance()?;
        stats::allocated::read()
    };
    let now = allocated().map_err(|error| format!("--max-memory: the allocator reports no statistics: {error}"))?;
    engine.refuse_growth(now as u64 > bytes);
    let watching = thread::Builder::new().name("dynatwin-memory".into()).spawn(move || {
        while let Ok(allocated) = allocated() {
            engine.refuse_growth(allocated as u64 > bytes);
            thread::sleep(PAUSE);
        }
    });
    watching.map_err(|error| format!("--max-memory: cannot start a thread: {error}"))?;
    Ok((now as u64 > bytes).then(|| {
        format!("--max-memory {bytes}: the process has allocated {now} bytes already, so writes that store more fail")
    }))
}

/// Refuses the flag, because only jemalloc reports the allocated memory.
#[cfg(not(all(feature = "jemalloc", not(target_env = "msvc"))))]
pub fn limit(_: Arc<Engine>, _: u64) -> Result<Option<String>, String> {
    Err("--max-memory is not available in this build".into())
}
