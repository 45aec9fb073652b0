//! Dynatwin over HTTP: a server that carries bytes between sockets and an engine, and does what its answers say about
//! when and how they are delivered.
//!
//! It knows nothing of the API: the envelope and the health check are the engine's. The server's own are connections (their
//! limits and timeouts, `content-length`, `date` and `connection`), what web pages may do (CORS, and the names they may use
//! in `Host`), and the refusal of requests that are too large to be read.
//!
//! ```
//! use dynatwin_engine::{clock::{Clock, Moment}, conditions::Conditions, engine::{Engine, Settings}};
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

mod budget;
mod command;
mod connection;
mod database;
mod delivery;
mod door;
mod due;
mod flags;
mod free;
mod intake;
mod listen;
mod log;
mod manual;
mod probe;
mod server;
mod start;
mod stream;
mod ui;
mod watch;
mod web;
mod worker;

pub use command::{LimitMemory, run};
pub use database::Durability;
pub use door::Door;
pub use flags::{Asked, ClockChoice, Flags, Sync, help, parse};
pub use listen::ListenError;
pub use log::Log;
pub use server::{Limits, Options, Server, serve};
pub use start::{engine, settings, start_line, system_time};
pub use web::{Origins, PLAYGROUND_PORT};
