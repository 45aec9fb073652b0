//! Global tables of version 2017.11.29, and the auto scaling of replicas.

pub(super) mod auto_scaling;
pub(super) mod create_global_table;
pub(super) mod describe_global_table;
pub(super) mod describe_global_table_settings;
pub(super) mod describe_table_replica_auto_scaling;
pub(super) mod legacy;
pub(super) mod list_global_tables;
pub(super) mod update_global_table;
pub(super) mod update_global_table_settings;
pub(super) mod update_table_replica_auto_scaling;
