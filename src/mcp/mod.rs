//! `oomdoc mcp`: what oomdoc knows and finds, as tools of assistants that speak the Model Context Protocol.
//!
//! In go calls of tools with arguments as JSON; out come small results that cite, or what is wrong and what to do about it. A tool reads and
//! asks, through a [`Backend`]; the only thing that it may add is an incident of the history. Whatever is answered leaves the machine, so
//! that its secrets are masked, and words of inputs stand in quoted fields only: to an assistant they are data.

mod answer;
mod arguments;
mod backend;
mod handler;
mod inputs;
mod problem;
mod schema;
mod stdio;
mod tools;

pub use backend::{Backend, Kept, Reach};
pub use handler::Tools;
pub use problem::Problem;
pub use stdio::serve;
