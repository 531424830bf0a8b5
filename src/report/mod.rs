//! The report and its renderings.
//!
//! In go what was read and what happened; out comes one [`Report`], the same for every reader, and one file a format that
//! renders it. A renderer decides how a thing is shown, never whether it is so.

mod json;
mod text;

use crate::incident::Outcome;
use crate::model::{InputSummary, Report, Role, SCHEMA};
use crate::source::SourceError;

pub use json::json;
pub use text::text;

/// The report on `outcome`.
pub fn assemble(inputs: Vec<InputSummary>, outcome: Outcome) -> Report {
    Report {
        schema: SCHEMA.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        verdict: outcome.verdict(),
        inputs,
        job: outcome.job,
        incidents: outcome.incidents,
        other_failure: outcome.other_failure,
    }
}

/// An input that could not be read, as reports list it.
pub fn unreadable(error: &SourceError) -> InputSummary {
    InputSummary {
        path: error.path().into(),
        role: Role::Other,
        bytes: 0,
        lines: 0,
        producers: Vec::new(),
        warning: Some(error.to_string()),
    }
}
