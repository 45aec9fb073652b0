//! Reads and writes of single items, and batches of them.

pub(super) mod batch_get_item;
pub(super) mod batch_write_item;
pub(super) mod delete_item;
pub(super) mod get_item;
pub(super) mod put_item;
pub(super) mod single_write;
pub(super) mod update_item;
