//! Tables and their settings.

pub(super) mod account;
pub(super) mod create_table;
pub(super) mod delete_table;
pub(super) mod describe_endpoints;
pub(super) mod describe_limits;
pub(super) mod describe_table;
pub(super) mod describe_time_to_live;
pub(super) mod description;
pub(super) mod kms;
pub(super) mod list_tables;
pub(super) mod update_table;
pub(super) mod update_time_to_live;
