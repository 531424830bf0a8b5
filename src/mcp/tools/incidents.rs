//! Incidents of the history, one line each.

use schemars::JsonSchema;
use serde::Serialize;

use crate::history::Document;
use crate::knowledge::Language;
use crate::model::{Kind, Phase};

/// An incident in one line; unknown values are absent.
#[derive(Serialize, JsonSchema)]
pub(super) struct Line {
    /// The id, for `show_incident`.
    id: String,
    /// When it happened, RFC 3339.
    time: String,
    kind: Kind,
    phase: Phase,
    cause: String,
    /// The cause in a few words.
    title: String,
    /// The confidence in the cause, 0–1.
    confidence: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    framework: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    host: Option<String>,
    /// The job's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    job: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tags: Vec<String>,
    /// The assignee.
    #[serde(skip_serializing_if = "Option::is_none")]
    assignee: Option<String>,
    /// Whether it still needs attention: open, resolved or reopened.
    state: &'static str,
    /// Size of the allocation that failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    requested: Option<String>,
    /// The first of its logs.
    #[serde(skip_serializing_if = "Option::is_none")]
    log: Option<String>,
    /// Whether a change solved it; absent where nobody said.
    #[serde(skip_serializing_if = "Option::is_none")]
    solved: Option<bool>,
    /// That change, or the last one that was tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    change: Option<String>,
}

/// At most this many characters of a name: records may contain anything.
const LONGEST: usize = 160;

impl Line {
    /// A line from `document`, in `language`.
    pub fn of(document: Document, language: Language) -> Line {
        let document = document.in_language(language);
        let cut = |words: String| words.chars().take(LONGEST).collect::<String>();
        Line {
            id: document.id,
            time: document.time,
            kind: document.kind,
            phase: document.phase,
            cause: cut(document.cause),
            title: cut(document.title),
            confidence: (document.confidence * 1000.0).round() / 1000.0,
            framework: document.framework,
            model: document.model.map(cut),
            host: document.host.map(cut),
            job: document.job.map(cut),
            tags: document.tags.into_iter().take(8).map(cut).collect(),
            assignee: document.assignee.map(cut),
            state: document.state.as_str(),
            requested: document.requested.map(|bytes| bytes.to_string()),
            log: document.inputs.into_iter().next().map(cut),
            solved: document.worked,
            change: document.change.map(cut),
        }
    }
}
