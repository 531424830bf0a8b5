use std::path::PathBuf;
use std::sync::Arc;

use super::FitError;
use super::labelled::{self, Case};
use crate::diagnosis::votes;
use crate::facts::Facts;
use crate::knowledge::{CauseRule, Knowledge, Must, shipped_files};
use crate::model::{Kind, Phase, Report};
use crate::signals::Signals;
use crate::source::{Input, SourceError};
use crate::{Options, examine_inputs};

/// A labelled incident with everything that is weighed.
pub struct Exhibit {
    /// The case.
    pub name: String,
    /// The origin of the case.
    pub group: String,
    /// The framework that it ran on, or `unknown`.
    pub framework: String,
    /// Its kind, as oomdoc sees it.
    pub kind: Kind,
    /// Phases that are right, the label itself first.
    pub phases: Vec<Phase>,
    /// Causes that are right, the label itself first.
    pub causes: Vec<String>,
    /// The rules' votes for phases, with the weights that people wrote.
    pub votes: Vec<(&'static str, Phase, f64)>,
    /// The signals.
    pub signals: Signals,
    /// The facts that conditions refer to.
    pub facts: Facts,
    /// How many incidents it counts for.
    pub weight: f64,
}

/// How many incidents an example of a rule counts for: what people wrote it for must stay true whatever incidents
/// teach.
const EXAMPLE: f64 = 40.0;
/// The same for an example whose cause need not come first.
const EXAMPLE_OF_THREE: f64 = 5.0;

/// How many incidents a case counts for whose answer must stay.
pub const KEPT: f64 = 12.0;

/// The number of labelled cases in `folders`, and those that have an incident and a label of its cause.
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
            exhibits.extend(exhibit(case, inputs(case)?, &options)?);
        }
    }
    Ok((cases.len(), exhibits))
}

/// Analyses `case` with `knowledge`.
pub fn analyze(case: &Case, knowledge: &Arc<Knowledge>) -> Result<Report, FitError> {
    let options = Options { knowledge: Some(Arc::clone(knowledge)), ..Options::default() };
    Ok(crate::analyze_inputs(inputs(case)?, Vec::new(), &options)?)
}

fn inputs(case: &Case) -> Result<Vec<Input<'static>>, FitError> {
    let inputs: Result<Vec<Input>, SourceError> = case.files.iter().map(|file| Input::open(file)).collect();
    inputs.map_err(|error| FitError::Source { case: case.name.clone(), error })
}

/// The examples of the shipped rules that show their cause.
pub fn of_rules(knowledge: &Arc<Knowledge>) -> Result<Vec<Exhibit>, FitError> {
    let options = Options { knowledge: Some(Arc::clone(knowledge)), ..Options::default() };
    let mut exhibits = Vec::new();
    for (_, content) in shipped_files().filter(|(path, _)| path.starts_with("causes/")) {
        // A test ensures that each can be read.
        let Ok(rule) = toml::from_str::<CauseRule>(content) else { continue };
        for example in &rule.example {
            let weight = match example.must {
                Must::First => EXAMPLE,
                Must::TopThree => EXAMPLE_OF_THREE,
                Must::NotFirst | Must::Absent => continue,
            };
            let case = Case {
                name: example.name.clone(),
                group: format!("rules/{}", rule.id),
                kinds: Vec::new(),
                phases: Vec::new(),
                causes: vec![rule.cause.to_string()],
                files: Vec::new(),
            };
            let exhibit = exhibit(&case, example.inputs(), &options)?;
            exhibits.extend(exhibit.map(|exhibit| Exhibit { weight, ..exhibit }));
        }
    }
    Ok(exhibits)
}

fn exhibit(case: &Case, inputs: Vec<Input<'static>>, options: &Options) -> Result<Option<Exhibit>, FitError> {
    let Some(examined) = examine_inputs(inputs, options)? else { return Ok(None) };
    Ok(Some(Exhibit {
        name: case.name.clone(),
        group: case.group.clone(),
        weight: 1.0,
        framework: examined.facts.text("job.framework").unwrap_or("unknown").to_owned(),
        kind: examined.found.incident.kind,
        phases: case.phases.clone(),
        causes: case.causes.clone(),
        votes: votes(&examined.found).collect(),
        signals: examined.signals,
        facts: examined.facts,
    }))
}
