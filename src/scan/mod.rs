//! The fast pass over gigabytes.
//!
//! Bytes come in, block by block. The few lines worth reading go out: those around a failure anchor, the beginning, the end, and a sparse
//! sample between. Which lines those are depends on the bytes alone, never on how they were cut into blocks, and memory stays the same for
//! a megabyte and a terabyte. Nothing here knows what a line means.

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
    /// There are too many literals.
    #[error(transparent)]
    TooMany(#[from] aho_corasick::BuildError),
    /// The automaton does not support this kind of search.
    #[error(transparent)]
    Unsupported(#[from] aho_corasick::MatchError),
}
