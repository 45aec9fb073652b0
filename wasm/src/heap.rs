//! Growth of the module's memory, in larger steps than the allocator's.
//!
//! The allocator grows the memory by as little as 64 KB. Node counts each growth as that much memory outside of its heap,
//! so above 60 MB each one starts a full garbage collection.

use std::cell::Cell;
use std::hint::black_box;

/// The minimum and maximum number of bytes added at once.
const STEPS: (usize, usize) = (1 << 20, 32 << 20);

/// Detects that the allocator has grown the memory, and grows it further.
#[derive(Default)]
pub struct Heap {
    /// The size of the memory at the last call.
    seen: Cell<usize>,
}

impl Heap {
    /// Adds a quarter to the memory if it has grown since the last call.
    pub fn grow_ahead(&self) {
        let size = memory_size();
        if size <= self.seen.get() {
            return;
        }
        // Memory that is allocated and freed at once stays with the allocator. A failed allocation is ignored.
        let mut room = Vec::<u8>::new();
        if room.try_reserve_exact((size / 4).clamp(STEPS.0, STEPS.1)).is_ok() {
            black_box(&room);
        }
        drop(room);
        self.seen.set(memory_size());
    }
}

/// Returns the size of the module's memory in bytes.
#[cfg(target_arch = "wasm32")]
fn memory_size() -> usize {
    const PAGE: usize = 1 << 16;
    std::arch::wasm32::memory_size(0) * PAGE
}

/// Other targets have no such memory.
#[cfg(not(target_arch = "wasm32"))]
fn memory_size() -> usize {
    0
}
