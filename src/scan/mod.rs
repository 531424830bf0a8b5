//! The fast pass over gigabytes.
//!
//! In go bytes, block by block, as they come. Out go the few lines worth reading: those around a failure anchor, the
//! beginning, the end, and a sparse sample between. Which lines those are depends on the bytes alone, never on how they
//! were cut into blocks, and memory stays the same for a megabyte and a terabyte. Nothing here knows what a line means.

mod anchors;
mod window;

pub use anchors::Anchors;
pub use window::{Extent, LineSink, RawLine, Scanner, Totals};
