//! The team's server: a history that everybody searches, and logs that anybody may bring.
//!
//! In go requests over HTTP; out come pages, JSON, and changes of the store. One thread, the [`keeper`], owns the store and writes; all
//! others hand it what is to be done and wait. Whatever is kept or sent is masked before, nobody writes without a name, and what was
//! acknowledged survives a killed process.

mod access;
mod answer;
mod api;
mod body;
mod bot;
mod config;
mod error;
mod forged;
mod health;
mod keeper;
mod listen;
#[cfg(feature = "mcp")]
mod mcp;
mod pages;
mod problem;
mod routes;
mod state;

pub use access::{Scope, Token, TokenError, Tokens};
pub use config::{Anonymous, Config, Limits, TrustedProxy};
pub use error::ServerError;
pub use listen::serve;
pub use routes::openapi;
pub use state::{Rules, Server};
