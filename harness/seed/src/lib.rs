//! Loads tables and items from common file formats into Dynatwin or any other endpoint of DynamoDB's API.
//!
//! [`Seed::read`] recognizes a file by its content, and refuses unknown content with the file and line. [`load_engine`]
//! loads into an engine of the same process, [`load`] into any [`Database`].

#[cfg(feature = "endpoints")]
pub mod cli;
mod cloudformation;
mod copy;
mod database;
mod document;
#[cfg(feature = "sqlite")]
mod dynamodb_local;
#[cfg(feature = "endpoints")]
mod endpoint;
mod error;
mod export;
mod intrinsics;
mod items;
mod json;
mod load;
mod read;
mod schema;
mod seed;
mod settings;
mod spreadsheet;
mod terraform;
mod workbench;

pub use copy::{CopyEvent, CopyOptions, copy};
pub use database::{CallError, Database, InProcess};
#[cfg(feature = "sqlite")]
pub use dynamodb_local::dynamodb_local_files;
#[cfg(feature = "endpoints")]
pub use endpoint::Endpoint;
pub use error::Error;
pub use export::export;
pub use json::{decode_text, to_json};
pub use load::{Existing, Loaded, load, load_engine};
pub use seed::{Attributes, Item, Items, Seed, SeedItem, Table};
