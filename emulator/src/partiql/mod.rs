//! PartiQL: lowers statements to the expressions of the other operations, and finds the keys in them.
//!
//! ```text
//! text ─ lexer, parser ─► tree ─ lower: literals, paths, operators ─► Prepared ─ bind ─► Statement
//!                                            (in the StatementCache)                     │ with a table
//!                                                Get, Write, ranges of keys ◄─ keys, plan ┘
//! ```
//!
//! Nothing here reads or changes an item. Trees are flat and walked without recursion, so that no statement, however
//! deeply nested, can overflow a stack; what recurs is bounded by the depth of values or by the operators of an expression.

mod ast;
mod condition;
mod error;
mod keys;
mod lexer;
mod literal;
mod lower;
mod next_token;
mod parser;
mod prepared;

pub use ast::Returning;
pub use keys::{Branch, branches, check_key_value, only_key, written_key};
pub use next_token::NextToken;
pub use prepared::{Columns, Prepared, Select, Statement, StatementCache, shown};

#[cfg(test)]
mod tests;
