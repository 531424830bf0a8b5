use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::answer::Answer;
use super::super::{Problem, Tools};
use super::Tool;
use super::incidents::Line;
use crate::knowledge::Language;
use crate::watch::Watch;

/// The tool that finds similar incidents.
pub(super) struct Similar;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// The id of an incident, or the beginning of it; without one the incident that was analysed last.
    #[serde(default)]
    incident: Option<String>,
    /// At most this many, 1 to 10.
    #[serde(default = "five")]
    #[schemars(range(min = 1, max = 10))]
    limit: usize,
    /// The language of the titles.
    #[serde(default)]
    language: Language,
}

fn five() -> usize {
    5
}

/// Incidents similar to one.
#[derive(Serialize, JsonSchema)]
pub(super) struct SimilarIncidents {
    /// The id of that one.
    of: String,
    /// The similar incidents, the most similar first.
    incidents: Vec<SimilarIncident>,
}

#[derive(Serialize, JsonSchema)]
struct SimilarIncident {
    /// The similarity, 0–1; 1 for the same trouble.
    likeness: f64,
    /// What they have in common.
    alike: Vec<String>,
    #[serde(flatten)]
    incident: Line,
}

const MOST: usize = 10;

impl Tool for Similar {
    const NAME: &'static str = "similar";
    const TITLE: &'static str = "Find incidents like this one";
    const DESCRIPTION: &'static str = "Finds the incidents of the history that are most like one of them, or like the one just analysed, and says \
what both have in common and what solved the others.";
    type Arguments = Arguments;
    type Result = SimilarIncidents;

    fn run(tools: &Tools, arguments: Arguments, _: &Arc<Watch>) -> Result<Answer, Problem> {
        let Arguments { incident, limit, language } = arguments;
        if !(1..=MOST).contains(&limit) {
            return Err(Problem::new(format!("`limit` is {limit}"), format!("give 1 to {MOST}")));
        }
        let record = tools.incident(incident.as_deref())?.record;
        let found = tools.backend().similar(&record, limit)?;
        Answer::fitting(found.len().max(1), |step| {
            let shown = found.iter().take(found.len() - step.min(found.len()));
            let other = |found: &crate::history::Likeness| SimilarIncident {
                likeness: (found.score * 100.0).round() / 100.0,
                alike: found.alike.iter().take(8).map(|both| both.chars().take(200).collect()).collect(),
                incident: Line::of(found.incident.clone(), language),
            };
            Ok(SimilarIncidents { of: record.incident.id.clone(), incidents: shown.map(other).collect() })
        })
    }
}
