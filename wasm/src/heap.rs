//! The growth of the module's memory, in larger steps than the allocator takes.
//!
//! The allocator grows the memory by as little as 64 KB. Node counts each growth as that much memory outside of its heap,
//! so above 60 MB each one starts a full garbage collection.

use std::cell::Cell;
use std::hint::black_box;

/// The least and the most that is added at once, in bytes.
const STEPS: (usize, usize) = (1 << 20, 32 << 20);

/// Notices that the allocator has grown the memory, and grows it further.
#[derive(Default)]
pub struct Heap {
    /// The size of the memory when it was looked at last.
    seen: Cell<usize>,
}

impl Heap {
    /// Adds a quarter to the memory if it has grown since the last call.
    pub fn grow_ahead(&self) {
        let size = memory_size();
        if size <= self.seen.get() {
            return;
        }
        // What is allocated and freed at once stays with the allocator. Without room there is nothing to prepare.
        let mut room = Vec::<u8>::new();
        if room.try_reserve_exact((size / 4).clamp(STEPS.0, STEPS.1)).is_ok() {
            black_box(&room);
        }
        drop(room);
        self.seen.set(memory_size());
    }
}

/// The size of the module's memory in bytes.
#[cfg(target_arch = "wasm32")]
fn memory_size() -> usize {
    const PAGE: usize = 1 << 16;
    std::arch::wasm32::memory_size(0) * PAGE
}

/// Elsewhere there is no such memory.
#[cfg(not(target_arch = "wasm32"))]
fn memory_size() -> usize {
    0
}
