//! Tests of statements: their errors, and the plans that they are lowered to.

mod faults;
mod meaning;
mod properties;
