use std::path::PathBuf;
use std::sync::Arc;

use super::FitError;
use super::labelled::{self, Case};
use crate::diagnosis::votes;
use crate::facts::Facts;
use crate::knowledge::Knowledge;
use crate::model::{Kind, Phase, Report};
use crate::signals::Signals;
use crate::source::{Input, SourceError};
use crate::{Options, examine_inputs};

/// A labelled incident, and all of it that is weighed.
pub struct Exhibit {
    /// The case.
    pub name: String,
    /// Where it comes from.
    pub group: String,
    /// The framework that it ran on, as far as its log says.
    pub framework: String,
    /// Its kind, as oomdoc sees it.
    pub kind: Kind,
    /// Phases that are right, the label itself first.
    pub phases: Vec<Phase>,
    /// Causes that are right, the label itself first.
    pub causes: Vec<String>,
    /// What rules say of the phase, and what that weighs as it is written.
    pub votes: Vec<(&'static str, Phase, f64)>,
    /// What can be weighed.
    pub signals: Signals,
    /// What conditions are asked of.
    pub facts: Facts,
}

/// How many labelled cases stand in `folders`, and those of them that have an incident and a label of its phase and cause.
pub fn read(
    folders: &[PathBuf],
    label: Option<&str>,
    knowledge: &Arc<Knowledge>,
) -> Result<(usize, Vec<Exhibit>), FitError> {
    let mut cases = Vec::new();
    for folder in folders {
        cases.extend(labelled::read(folder, label)?);
    }
    let mut exhibits = Vec::new();
    let options = Options { knowledge: Some(Arc::clone(knowledge)), ..Options::default() };
    for case in &cases {
        let is_incident = !case.causes.is_empty() && case.kinds.first() != Some(&Kind::None);
        if is_incident {
            exhibits.extend(exhibit(case, &options)?);
        }
    }
    Ok((cases.len(), exhibits))
}

/// What oomdoc says of `case` by what `knowledge` holds.
pub fn analyze(case: &Case, knowledge: &Arc<Knowledge>) -> Result<Report, FitError> {
    let options = Options { knowledge: Some(Arc::clone(knowledge)), ..Options::default() };
    Ok(crate::analyze_inputs(inputs(case)?, Vec::new(), &options)?)
}

fn inputs(case: &Case) -> Result<Vec<Input<'static>>, FitError> {
    let inputs: Result<Vec<Input>, SourceError> = case.files.iter().map(|file| Input::open(file)).collect();
    inputs.map_err(|error| FitError::Source { case: case.name.clone(), error })
}

fn exhibit(case: &Case, options: &Options) -> Result<Option<Exhibit>, FitError> {
    let Some(examined) = examine_inputs(inputs(case)?, options)? else { return Ok(None) };
    Ok(Some(Exhibit {
        name: case.name.clone(),
        group: case.group.clone(),
        framework: examined.facts.text("job.framework").unwrap_or("unknown").to_owned(),
        kind: examined.found.incident.kind,
        phases: case.phases.clone(),
        causes: case.causes.clone(),
        votes: votes(&examined.found).collect(),
        signals: examined.signals,
        facts: examined.facts,
    }))
}
