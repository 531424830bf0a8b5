//! The report and its renderings.
//!
//! In go what was read and what happened; out comes one [`Report`], the same for every reader, and one file a format that
//! renders it. A renderer decides how a thing is shown, never whether it is so.

mod arithmetic;
mod brief;
mod ci_run;
mod compact;
mod context_lines;
mod diff;
mod github;
mod html;
mod joints;
mod json;
mod lead;
mod markdown;
mod names;
mod outgoing;
mod outline;
mod parts;
mod phrases;
mod place;
mod sarif;
mod schema;
mod selection;
mod text;
mod texts;

use crate::knowledge::Language;
use crate::model::{Collapse, Incident, InputSummary, Job, Kind, OtherFailure, Report, Role, SCHEMA};
use crate::source::SourceError;

pub use arithmetic::memory;
pub use brief::brief;
pub use ci_run::{run, solved};
pub use compact::compact;
pub use context_lines::neighbours;
pub use github::github;
pub use html::html;
pub use json::{json, json_of_jobs};
pub use markdown::{markdown, markdown_of_jobs};
pub use outgoing::outgoing;
pub(crate) use parts::part_name;
pub use sarif::sarif;
pub use schema::schema;
pub(crate) use schema::schema_of;
pub use selection::{change, numbered, proposed, telling};
pub use text::{Length, text, text_of_jobs};
pub(crate) use texts::phase as phase_name;

/// The report on what was read and what happened.
pub fn assemble(
    inputs: Vec<InputSummary>,
    job: Job,
    verdict: Kind,
    incidents: Vec<Incident>,
    other_failure: Option<OtherFailure>,
    failure: Collapse,
    language: Language,
) -> Report {
    let (schema, version) = (SCHEMA.to_owned(), env!("CARGO_PKG_VERSION").to_owned());
    let (summary, neighbours) = (String::new(), Vec::new());
    let report =
        Report { schema, version, verdict, inputs, job, incidents, other_failure, failure, summary, neighbours };
    Report { summary: lead::summary(&report, language), ..report }
}

/// Whether any line of a log was read.
pub fn has_log(report: &Report) -> bool {
    report.inputs.iter().any(|input| input.lines > 0)
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
