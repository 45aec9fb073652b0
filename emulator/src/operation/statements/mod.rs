//! PartiQL: single statements, batches and transactions of them.

pub(super) mod batch_execute_statement;
pub(super) mod execute_statement;
pub(super) mod execute_transaction;
pub(super) mod statement;
