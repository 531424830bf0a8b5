//! The index: finds incidents without opening the store.
//!
//! Everything in it follows from the store, so that it may be thrown away at any time. In go the records of the changes that
//! it does not follow yet, by whoever has the store open; out come answers from what is stored in it. Each commit says which
//! store it follows, and to which change; an index of which that cannot be said for sure is never asked.

mod document;
mod error;
mod fields;
mod lines;
mod looking;
mod reader;
mod spelling;
mod state;
mod tally;
mod translate;
mod verified;
mod writer;

pub use error::IndexError;
pub(super) use reader::Reader;
pub(super) use tally::{Column, Counts, SEPARATOR};
pub(super) use writer::Building;
pub(super) use writer::follow;
pub use writer::{Progress, verify_index};

/// Where it is in the home folder.
const FOLDER: &str = "index";
