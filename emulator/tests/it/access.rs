//! Access policies attached to callers, and the service's answers.

mod configuration;
mod cross_account;
mod decisions;
mod documented;
mod every_operation;
mod federated;
mod fine_grained;
mod guides;
mod initial;
mod kinds;
mod limits;
mod operations;
mod principals;
mod replicas;
mod report;
mod scene;
mod signatures;
mod twin;
mod warnings;
