//! Snapshots of an engine's state.

use dynatwin_engine::StateSnapshot;
use wasm_bindgen::prelude::*;

use crate::{Outcome, options};

/// The state of an engine at one moment. It shares its items with the engines that it was taken from and restored into.
#[wasm_bindgen]
pub struct Snapshot(pub(crate) StateSnapshot);

#[wasm_bindgen]
impl Snapshot {
    /// Returns the snapshot as bytes, which every build of Dynatwin reads.
    pub fn bytes(&self) -> Vec<u8> {
        self.0.to_bytes()
    }

    /// Decodes a snapshot that `toBytes` encoded.
    #[wasm_bindgen(js_name = fromBytes)]
    pub fn from_bytes(bytes: &[u8]) -> Outcome<Snapshot> {
        let snapshot = StateSnapshot::from_bytes(bytes);
        snapshot
            .map(Snapshot)
            .map_err(|error| options::refusal(&error.to_string()))
    }
}
