//! The expression language: conditions, filters, key conditions, projections and updates; and the legacy parameters,
//! which are lowered to the same expressions.
//!
//! ```text
//! text ─ lexer, parser ─► Parsed (kept in the Cache) ─ Bindings: placeholders, static checks ─► Condition, Update, …
//! ```
//!
//! [`Bindings`] is the entry point. The expressions that it returns have passed every check that needs no item and no
//! table. Errors have no envelope of the moved validation layer, which the operations add.

mod ast;
mod bind;
mod builder;
mod cache;
mod check;
mod condition;
mod error;
mod key_condition;
pub mod legacy;
mod lexer;
mod outline;
mod parser;
mod path;
mod projection;
mod reserved;
mod search_condition;
mod update;

pub use ast::{Clause, Operator};
pub use bind::{AttributeNames, Bindings};
pub use builder::{BuiltExpression, ExpressionBuilder, Logic, Term};
pub use cache::Cache;
pub use condition::{Condition, ConditionPart};
pub use key_condition::{KeyClause, KeyCondition, KeyOperator};
pub use outline::{Outcome, Outline, OutlineNode, OutlinePart};
pub use path::{Path, PathElement};
pub use projection::Projection;
pub use search_condition::SearchCondition;
pub use update::{Target, Update};

/// The kinds of expression, as requests name them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // the requests' own names
pub enum ExpressionKind {
    Condition,
    Filter,
    KeyCondition,
    Projection,
    SearchCondition,
    Update,
}

impl ExpressionKind {
    pub const fn name(self) -> &'static str {
        match self {
            ExpressionKind::Condition => "ConditionExpression",
            ExpressionKind::Filter => "FilterExpression",
            ExpressionKind::KeyCondition => "KeyConditionExpression",
            ExpressionKind::Projection => "ProjectionExpression",
            ExpressionKind::SearchCondition => "SearchConditionExpression",
            ExpressionKind::Update => "UpdateExpression",
        }
    }
}
#[cfg(test)]
mod tests;
