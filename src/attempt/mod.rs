//! The attempts of a job: what each was launched with, how far it got, and whether a change between two of them worked.
//!
//! In: a command, the log that it printed and the report on it. Out: the configuration files that the command names,
//! the outcome of a change that the previous report proposed, and the command with the next change made in copies of
//! its files. The originals are never written.

mod launched;
mod outcome;
mod previous;
mod progress;
mod retry;

pub use launched::Launched;
pub use outcome::{AttemptEnd, judge};
pub use previous::PreviousAttempt;
pub use progress::reached;
pub use retry::{ChangedJob, RetryError, change};
