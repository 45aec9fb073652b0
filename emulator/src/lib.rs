//! An emulator of Amazon DynamoDB: HTTP requests in, the service's responses out, on a clock that the caller controls.
//!
//! The engine is synchronous and pure: no sockets, threads, files, system clock or source of entropy. A transport passes it
//! bytes ([`engine::Engine::handle`]) and delivers the response.
pub mod access;
pub mod answer;
pub mod caller;
pub mod capacity;
pub mod chance;
pub mod change;
pub mod clock;
pub mod conditions;
pub mod context;
pub mod digest;
pub mod engine;
pub mod error;
pub mod execute;
pub mod expression;
pub mod fault;
pub mod journal;
pub mod key;
pub mod limits;
pub mod number;
pub mod operation;
pub mod partiql;
pub mod plan;
pub mod reclaim;
pub mod request;
pub mod schema;
pub mod size;
pub mod storage;
pub mod sync;
pub mod transfer;
pub mod value;
pub mod wire;
