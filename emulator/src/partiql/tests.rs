//! Tables of statements: what is wrong about them, and what becomes of them.

mod faults;
mod meaning;
mod properties;
