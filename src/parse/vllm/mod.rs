//! vLLM: failures of an engine, and its prints about memory while it starts, sleeps and serves.

mod failures;
mod prints;

pub(super) use failures::VllmFailures;
pub(super) use prints::VllmPrints;
