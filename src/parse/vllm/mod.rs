//! vLLM: why an engine did not start, what it says of memory while it starts, sleeps and serves, and its settings.

mod failures;
mod prints;

pub(super) use failures::Failures;
pub(super) use prints::Prints;
