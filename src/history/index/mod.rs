//! The index: finds incidents without opening the store.
//!
//! Everything in it follows from the store, so that it may be thrown away at any time. In go the records of the changes that
//! it does not follow yet, by whoever has the store open; out come answers from what is stored in it. Each commit says which
//! store it follows, and to which change; an index of which that cannot be said for sure is never asked.

mod document;
mod error;
mod fields;
mod follower;
mod lines;
mod looking;
mod newest;
mod reader;
mod segments;
mod spelling;
mod state;
mod tally;
mod translate;
mod troubles;
mod verified;
mod weekly;
mod writer;

pub use error::IndexError;
pub(super) use fields::FACETS;
pub(super) use follower::Follower;
pub(super) use newest::Moment;
pub(super) use reader::Reader;
pub(super) use segments::{Found, KEPT, SegmentKey};
pub(super) use tally::{Column, Counts, SEPARATOR};
pub(super) use troubles::Trouble;
pub(super) use weekly::Weekly;
pub(super) use writer::{Building, Told, follow};
pub use writer::{Progress, verify_index};

/// Where it is in the home folder.
const FOLDER: &str = "index";
