//! Capacity: what requests cost. Arithmetic only, no locks.

mod consumed;
pub mod units;

pub use consumed::{Consumed, Direction};
