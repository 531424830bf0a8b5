//! How sure oomdoc may be of what it says.
//!
//! In go labelled incidents; out comes the [`Calibration`] under which, of the first diagnoses given 0.8, eight in ten are
//! right, and how well it does on incidents whose origin it was not fitted on. Rules and their weights are not changed.

mod fit;
mod labelled;
mod reliability;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use thiserror::Error;

pub use fit::fit;
pub use labelled::{Case, LabelError, read as read_cases};
pub use reliability::{Bin, Forecast, bins, brier};

use crate::knowledge::{Calibration, Knowledge};
use crate::model::{Kind, Report};
use crate::source::{Input, SourceError};
use crate::{Error as AnalysisError, Options};

/// Why there is no calibration.
#[derive(Debug, Error)]
pub enum CalibrateError {
    /// The labelled cases cannot be used.
    #[error(transparent)]
    Labels(#[from] LabelError),
    /// A case's file cannot be read.
    #[error("{case}: {error}")]
    Source {
        /// Which case.
        case: String,
        /// What cannot be read, and why.
        #[source]
        error: SourceError,
    },
    /// A case cannot be analysed.
    #[error(transparent)]
    Analysis(#[from] AnalysisError),
    /// No case has both an incident and a label of its cause.
    #[error("none of {0} cases has an incident whose cause is labelled")]
    NothingLabelled(usize),
}

/// The first diagnosis of a labelled incident.
#[derive(Debug, Clone, PartialEq)]
pub struct Answered {
    /// The case.
    pub name: String,
    /// Where it comes from.
    pub group: String,
    /// The incident's kind, as oomdoc sees it.
    pub kind: Kind,
    /// Its share of all odds, 0–1.
    pub share: f64,
    /// Whether it says that the cause is not known.
    pub is_unknown: bool,
    /// Whether it is the label or what a fair expert would accept too.
    pub is_right: bool,
}

impl Answered {
    fn forecast(&self, calibration: &Calibration) -> Forecast {
        (calibration.confidence(self.share, self.kind, self.is_unknown), self.is_right)
    }
}

/// A calibration and how well it does.
#[derive(Debug, Clone, PartialEq)]
pub struct Calibrated {
    /// Fitted on all cases.
    pub calibration: Calibration,
    /// Cases in the folder.
    pub cases: usize,
    /// Origins of the cases that were fitted on.
    pub groups: usize,
    /// The first diagnoses by their share alone.
    pub before: Vec<Forecast>,
    /// By the calibration, on the cases it was fitted on.
    pub fitted: Vec<Forecast>,
    /// Each by a calibration that was fitted without any case of its origin.
    pub left_out: Vec<Forecast>,
}

/// Fits a calibration of what `knowledge` says on the labelled cases in `folder`, each with a file `label` or one of the usual
/// names.
pub fn calibrate(folder: &Path, label: Option<&str>, knowledge: Knowledge) -> Result<Calibrated, CalibrateError> {
    let cases = labelled::read(folder, label)?;
    let knowledge = Arc::new(Knowledge { calibration: Calibration::default(), ..knowledge });
    let mut answers = Vec::new();
    for case in cases.iter().filter(|case| !case.causes.is_empty() && case.kinds.first() != Some(&Kind::None)) {
        answers.extend(answer(case, &analyze(case, &knowledge)?));
    }
    if answers.is_empty() {
        return Err(CalibrateError::NothingLabelled(cases.len()));
    }
    Ok(calibrated(cases.len(), &answers))
}

fn calibrated(cases: usize, answers: &[Answered]) -> Calibrated {
    let groups: BTreeSet<&str> = answers.iter().map(|answer| &*answer.group).collect();
    let left_out = groups.iter().flat_map(|group| {
        let (own, others): (Vec<Answered>, Vec<Answered>) =
            answers.iter().cloned().partition(|answer| answer.group == **group);
        let calibration = fit(&others);
        own.into_iter().map(move |answer| answer.forecast(&calibration))
    });
    let calibration = fit(answers);
    Calibrated {
        cases,
        groups: groups.len(),
        before: answers.iter().map(|answer| answer.forecast(&Calibration::default())).collect(),
        fitted: answers.iter().map(|answer| answer.forecast(&calibration)).collect(),
        left_out: left_out.collect(),
        calibration,
    }
}

/// What oomdoc says of `case` by what `knowledge` holds.
pub fn analyze(case: &Case, knowledge: &Arc<Knowledge>) -> Result<Report, CalibrateError> {
    let open = |file: &String| Input::open(file);
    let inputs: Result<Vec<Input>, SourceError> = case.files.iter().map(open).collect();
    let inputs = inputs.map_err(|error| CalibrateError::Source { case: case.name.clone(), error })?;
    let options = Options { knowledge: Some(Arc::clone(knowledge)), ..Options::default() };
    Ok(crate::analyze_inputs(inputs, Vec::new(), &options)?)
}

/// The first diagnosis of the root incident, where there is one.
fn answer(case: &Case, report: &Report) -> Option<Answered> {
    let root = report.incidents.first()?;
    let first = root.diagnoses.first()?;
    Some(Answered {
        name: case.name.clone(),
        group: case.group.clone(),
        kind: root.kind,
        share: first.confidence,
        is_unknown: &*first.cause == crate::diagnosis::UNKNOWN,
        is_right: case.causes.iter().any(|cause| *cause == *first.cause),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_out_does_not_help_itself() {
        // One origin is always wrong; only the others' answers can be known of it.
        let answers: Vec<Answered> = (0..40)
            .map(|place| Answered {
                name: format!("case-{place}"),
                group: if place < 20 { "wrong" } else { "right" }.to_owned(),
                kind: Kind::GpuOom,
                share: 0.5,
                is_unknown: false,
                is_right: place >= 20,
            })
            .collect();
        let found = calibrated(40, &answers);
        assert_eq!((found.groups, found.left_out.len()), (2, 40));
        assert!(found.left_out.iter().all(|(said, right)| (*said < 0.4) == *right), "{:?}", found.left_out);
        assert!(found.fitted.iter().all(|(said, _)| (said - 0.5).abs() < 0.01), "{:?}", found.fitted);
    }
}
