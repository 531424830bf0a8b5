//! SGLang: failed allocations, and its prints about memory while it starts and serves. Its `GB` are 2^30 bytes.

mod failures;
mod prints;

pub(super) use failures::SglangFailures;
pub(super) use prints::SglangPrints;
