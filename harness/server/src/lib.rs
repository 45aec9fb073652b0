//! Dynatwin over HTTP: a server that moves bytes between sockets and an engine, and delivers answers when and how they
//! define.
//!
//! It contains no operation logic: the envelope and the health check are the engine's. The server itself handles
//! connections (their limits and timeouts, `content-length`, `date` and `connection`), web pages (CORS, and the host
//! names they may use), and the refusal of requests that are too large to read.
//!
//! ```
//! use dynatwin_engine::{Clock, Conditions, Engine, Moment, Settings};
//! use dynatwin_server::{Options, serve};
//! use std::sync::Arc;
//!
//! let settings = Settings {
//!     clock: Clock::settable(Moment::START),
//!     seed: 1,
//!     conditions: Conditions::CALM,
//!     shared_db: false,
//! };
//! let server = serve(Arc::new(Engine::new(settings)), Options::port(0))?;
//! assert!(server.endpoint().starts_with("http://127.0.0.1:"));
//! server.stop();
//! # Ok::<(), dynatwin_server::ListenError>(())
//! ```

mod access;
mod backend;
mod budget;
mod client;
mod command;
mod connection;
mod database;
mod delivery;
mod direct;
mod due;
mod engine;
mod flags;
mod free;
mod intake;
mod listen;
mod load;
mod log;
mod manual;
mod probe;
mod report;
mod response;
mod server;
mod start_line;
mod stream;
mod ui;
mod watch;
mod web;
mod worker;

pub use backend::Backend;
pub use command::{LimitMemory, run};
pub use database::Durability;
pub use engine::{engine, settings, system_time};
pub use flags::{ClockChoice, Flags, Invocation, Sync, help, parse};
pub use listen::ListenError;
pub use log::Log;
pub use server::{Limits, Options, Server, serve};
pub use start_line::start_line;
pub use web::{Origins, PLAYGROUND_PORT};
