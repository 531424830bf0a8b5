//! The fast pass over gigabytes.
//!
//! In go bytes, block by block, as they come. Out go the few lines worth reading: those around a failure anchor, the
//! beginning, the end, and a sparse sample between. Which lines those are depends on the bytes alone, never on how they
//! were cut into blocks, and memory stays the same for a megabyte and a terabyte. Nothing here knows what a line means.

mod anchors;
mod literals;
mod window;

use thiserror::Error;

pub use anchors::Anchors;
pub use literals::Literals;
pub use window::{Extent, LineSink, RawLine, Scanner, Totals};

/// Why a search for literals could not be built.
#[derive(Debug, Error)]
pub enum SearchError {
    /// They are too many.
    #[error(transparent)]
    TooMany(#[from] aho_corasick::BuildError),
    /// The automaton does not search as it is asked to.
    #[error(transparent)]
    Unsupported(#[from] aho_corasick::MatchError),
}
