//! The index: finds incidents without opening the store.
//!
//! Everything in it is derived from the store, so that it may be deleted at any time. In go the records of the changes
//! that it does not know yet, written by the process that has the store open; out come answers from its own stored
//! documents. Each commit names the store and the change that it follows; an index whose state is uncertain is never
//! read.

mod document;
mod error;
mod exclusion;
mod fields;
mod follower;
mod newest;
mod reader;
mod reader_directory;
mod segments;
mod spelling;
mod state;
mod tally;
mod tokenizer;
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
pub(super) use segments::{KEPT, SegmentCache, SegmentKey};
pub(super) use tally::{Column, Counts, SEPARATOR};
pub(super) use troubles::Trouble;
pub(super) use weekly::Weekly;
pub(super) use writer::{Building, follow};
pub use writer::{Progress, verify_index};

/// The folder's name in the home folder.
const FOLDER: &str = "index";
