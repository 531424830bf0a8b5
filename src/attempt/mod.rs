//! The attempts of a job: what it was launched with, how far it got, and what the next one says of what was changed between.
//!
//! In go a command, the log that it printed and the report on it; out come the configuration files that the command names, the outcome of
//! a change that an earlier report proposed, and the command with the next change made in copies of its files.

mod forerunner;
mod launched;
mod outcome;
mod progress;
mod retry;

pub use forerunner::Forerunner;
pub use launched::Launched;
pub use outcome::{Ending, judge};
pub use progress::reached;
pub use retry::{Changed, RetryError, change};
