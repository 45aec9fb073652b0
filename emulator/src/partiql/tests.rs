//! Tests of statements: their errors, and the plans that they are lowered to.

mod errors;
mod meaning;
mod properties;
