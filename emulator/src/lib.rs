//! A twin of Amazon DynamoDB: requests in, the service's answers out, at a moment of a clock that the caller owns.
pub mod answer;
pub mod chance;
pub mod clock;
pub mod conditions;
pub mod engine;
pub mod error;
pub mod expression;
pub mod fault;
pub mod limits;
pub mod number;
pub mod request;
pub mod size;
pub mod sync;
pub mod value;
