//! SGLang: what it could not allocate, and what it says of memory while it starts and serves. Its `GB` are 2^30 bytes.

mod failures;
mod prints;

pub(super) use failures::Failures;
pub(super) use prints::Prints;
