//! The server's integration tests, in one program: a module for each subject.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod binary;
mod connections;
mod control;
mod copies;
#[cfg(unix)]
mod copy;
#[cfg(unix)]
mod database;
mod delivery;
mod events;
mod inspect;
#[cfg(unix)]
mod kill;
mod openapi;
#[cfg(unix)]
mod shutdown;
mod streams;
mod support;
mod web;
