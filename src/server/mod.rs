//! The team's server: it keeps a history that everybody can search and analyses logs that are uploaded.
//!
//! In: requests over HTTP. Out: pages, JSON, and changes of the store. One thread, the [`keeper`], owns the store and
//! writes; all others send it work and wait. Whatever is kept or sent is masked first, visitors without a name never
//! write, and what was acknowledged survives a killed process.

mod access;
mod api;
mod body;
mod bot;
mod config;
mod csrf;
mod error;
mod health;
mod keeper;
mod listen;
#[cfg(feature = "mcp")]
mod mcp;
mod pages;
mod problem;
mod response;
mod routes;
mod state;

pub use access::{Scope, Token, TokenError, Tokens};
pub use config::{Anonymous, Config, Limits, TrustedProxy};
pub use error::ServerError;
pub use listen::serve;
pub use routes::openapi;
pub use state::{Rules, Server};
