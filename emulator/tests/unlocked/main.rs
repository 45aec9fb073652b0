//! The patches of `run.rs` fit the source, and every loom model has one.
//!
//! `cargo run -p dynatwin-engine --example unlocked` runs the models without their locks.
#![cfg(not(loom))]
#![allow(clippy::unwrap_used)]

mod patches;

use std::fs;

use patches::{PATCHES, engine, patched};

#[test]
fn every_patch_fits_the_source() {
    for patch in PATCHES {
        assert_ne!(patch.locked, patch.unlocked);
        patched(patch);
    }
}

#[test]
fn every_model_has_a_patch() {
    let models = fs::read_to_string(engine().join("tests/loom.rs")).unwrap();
    let mut names: Vec<&str> = models
        .split("\nfn ")
        .filter(|function| function.contains("explore(|| {"))
        .filter_map(|function| function.split('(').next())
        .filter(|name| *name != "explore")
        .collect();
    names.sort_unstable();
    let mut patched: Vec<&str> = PATCHES.iter().flat_map(|patch| patch.models).copied().collect();
    patched.sort_unstable();
    patched.dedup();
    assert_eq!(names, patched);
}
