//! Locks and atomics: `parking_lot` and `std`, or loom's under `cfg(loom)`, with one interface.

#[cfg(not(loom))]
pub use parking_lot::{Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};
#[cfg(not(loom))]
pub use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, AtomicUsize, Ordering};

/// A flag that orders nothing and guards nothing: loom does not explore it, nor see a map hand it to another thread.
pub type Hint = std::sync::atomic::AtomicBool;

/// A cell that is initialized at most once, with a value that does not depend on the initializing thread: loom does not explore it.
pub type Once<T> = std::sync::OnceLock<T>;

/// A counter that orders nothing: loom does not explore it.
pub type Counter = std::sync::atomic::AtomicU64;

#[cfg(loom)]
pub use explored::{Mutex, RwLock};
#[cfg(loom)]
pub use loom::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, AtomicUsize, Ordering};
#[cfg(loom)]
pub use loom::sync::{MutexGuard, RwLockReadGuard, RwLockWriteGuard};

/// loom's locks with the interface of `parking_lot`'s: no poisoning.
#[cfg(loom)]
#[allow(missing_docs)]
mod explored {
    use super::{MutexGuard, RwLockReadGuard, RwLockWriteGuard};

    #[derive(Debug)]
    pub struct Mutex<T>(loom::sync::Mutex<T>);

    impl<T> Mutex<T> {
        pub fn new(value: T) -> Mutex<T> {
            Mutex(loom::sync::Mutex::new(value))
        }

        pub fn lock(&self) -> MutexGuard<'_, T> {
            self.0.lock().expect("loom does not poison")
        }
    }

    impl<T: Default> Default for Mutex<T> {
        fn default() -> Mutex<T> {
            Mutex::new(T::default())
        }
    }

    #[derive(Debug)]
    pub struct RwLock<T>(loom::sync::RwLock<T>);

    impl<T> RwLock<T> {
        pub fn new(value: T) -> RwLock<T> {
            RwLock(loom::sync::RwLock::new(value))
        }

        pub fn read(&self) -> RwLockReadGuard<'_, T> {
            self.0.read().expect("loom does not poison")
        }

        pub fn write(&self) -> RwLockWriteGuard<'_, T> {
            self.0.write().expect("loom does not poison")
        }
    }

    impl<T: Default> Default for RwLock<T> {
        fn default() -> RwLock<T> {
            RwLock::new(T::default())
        }
    }
}
