//! The rule base as users see it: its content, its consistency, and whether its examples hold.
//!
//! In go files of rules, shipped or the user's own. Out come findings, each with file, line and advice, and the outcome
//! of every example, which runs through the real analysis. Nothing here changes a rule or decides a diagnosis.

mod check;
mod example;
mod explain;
mod key_lines;
mod names;
mod skeleton;
mod sources;

pub use check::{Checked, Finding, Severity, check};
pub use example::{ExampleOutcome, try_examples};
pub use explain::explain;
pub(crate) use key_lines::{KeyLines, line_at};
pub(crate) use names::nearest;
pub use names::{FactNames, nearest_rules};
pub use skeleton::{BadName, skeleton};
pub use sources::{RuleSource, SourcesError};
