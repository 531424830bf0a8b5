//! The report and its renderings.
//!
//! In goes what was read and what happened. Out comes one [`Report`], the same for every reader, and its renderings,
//! one file per format. A renderer decides how something is shown, never whether it is true.

#[cfg(feature = "render")]
mod annotation_place;
mod arithmetic;
#[cfg(feature = "render")]
mod brief;
#[cfg(feature = "render")]
mod ci_run;
#[cfg(feature = "render")]
mod compact;
mod component_names;
mod connectives;
#[cfg(feature = "render")]
mod context_lines;
#[cfg(feature = "render")]
mod details;
mod device;
#[cfg(feature = "render")]
mod diff;
#[cfg(feature = "render")]
mod github;
#[cfg(feature = "render")]
mod html;
#[cfg(feature = "render")]
mod json;
mod labels;
mod lead;
#[cfg(feature = "render")]
mod markdown;
mod names;
mod next_steps;
#[cfg(feature = "render")]
mod outgoing;
#[cfg(feature = "render")]
mod outline;
mod phrases;
mod ranks;
#[cfg(feature = "render")]
mod sarif;
mod selection;
#[cfg(feature = "render")]
mod snapshot;
#[cfg(feature = "render")]
mod text;
mod wording;

use crate::knowledge::Language;
use crate::model::{Collapse, Incident, InputSummary, Job, Kind, OtherFailure, Report, Role, SCHEMA};
use crate::source::SourceError;

pub use arithmetic::memory;
#[cfg(feature = "render")]
pub use brief::brief;
#[cfg(feature = "render")]
pub use ci_run::{run, solved};
#[cfg(feature = "render")]
pub use compact::{Cite, Compact, compact, compacted};
#[cfg(feature = "render")]
pub use context_lines::{beside_all, beside_proof, neighbours};
#[cfg(feature = "render")]
pub use github::github;
#[cfg(feature = "render")]
pub use html::html;
#[cfg(feature = "server")]
pub use html::{SCRIPT as HTML_SCRIPT, STYLE as HTML_STYLE, embedded};
#[cfg(feature = "render")]
pub use json::{json, json_of_jobs};
#[cfg(feature = "render")]
pub use markdown::{markdown, markdown_of_jobs};
#[cfg(feature = "server")]
pub(crate) use names::figure as figure_name;
/// Text from logs as inert Markdown.
#[cfg(feature = "server")]
pub mod escape {
    pub use super::markdown::{block, code, inline};
}
pub(crate) use component_names::part_name;
pub use next_steps::next_step;
#[cfg(feature = "render")]
pub use outgoing::outgoing;
pub use ranks::in_words;
#[cfg(feature = "render")]
pub use ranks::rank_rows;
#[cfg(feature = "render")]
pub use sarif::sarif;
pub use selection::{change, numbered, proposed, telling};
#[cfg(feature = "render")]
pub use text::{Length, text, text_of_jobs};
pub(crate) use wording::phase as phase_name;

/// Assembles the report.
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
    let (summary, snapshots, neighbours) = (String::new(), Vec::new(), Vec::new());
    let report = Report {
        schema,
        version,
        verdict,
        inputs,
        job,
        incidents,
        other_failure,
        failure,
        summary,
        snapshots,
        neighbours,
        nodes: None,
        ranks: None,
    };
    Report { summary: lead::summary(&report, language), ..report }
}

/// Whether any log line or memory snapshot was read.
pub fn has_log(report: &Report) -> bool {
    report.inputs.iter().any(is_read)
}

/// Whether lines of `input` were read, or it is a readable memory snapshot.
pub fn is_read(input: &InputSummary) -> bool {
    input.lines > 0 || input.role == Role::Snapshot && input.warning.is_none()
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
