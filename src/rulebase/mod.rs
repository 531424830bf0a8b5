//! The rule base as users see it: what is in it, whether it holds together, whether it does what its examples say.
//!
//! In go files of rules, shipped or the user's own; out come findings, each with its file and line and what to do, and the
//! outcome of every example, which runs through the real analysis. Nothing here changes a rule or decides a diagnosis.

mod check;
mod example;
mod explain;
mod lines;
mod names;
mod skeleton;
mod sources;

pub use check::{Checked, Finding, Severity, check};
pub use example::{Tried, try_examples};
pub use explain::explain;
pub(crate) use lines::{Lines, line_at};
pub(crate) use names::nearest;
pub use names::{FactNames, nearest_rules};
pub use skeleton::{BadName, skeleton};
pub use sources::{RuleSource, SourcesError};
