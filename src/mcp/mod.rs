//! `oomdoc mcp`: tools for assistants that speak the Model Context Protocol.
//!
//! In: calls of tools with JSON arguments. Out: short results with citations, or a problem with advice. Tools only
//! read, through a [`Backend`]; the one thing that they may write is a new incident in the history. Results leave the
//! machine, so secrets are masked, and words of inputs appear only in quoted fields: to an assistant they are data.

mod answer;
mod arguments;
mod backend;
mod handler;
mod inputs;
mod problem;
mod schema;
mod stdio;
mod tools;

pub use backend::{Backend, KeptIncident, Reach};
pub use handler::Tools;
pub use problem::Problem;
pub use stdio::serve;
