//! Fits the weights of signals and the calibration of confidence.
//!
//! In go labelled incidents. Out come the weights of `rules/ranking/`, the [`Calibration`] (of the first diagnoses
//! given 0.8, eight in ten are right), and how well both do on incidents whose origin or framework they were not fitted
//! on. Each weight starts from what people wrote; nothing here reads a log or knows a cause.

mod calibration;
mod cross_validation;
mod exhibit;
mod labelled;
mod reliability;
mod solve;
mod task;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use thiserror::Error;

pub use cross_validation::Tally;
pub use exhibit::{Exhibit, analyze};
pub use labelled::{Case, LabelError, read as read_cases};
pub use reliability::{Forecast, bins, brier};

use crate::Error as AnalysisError;
use crate::knowledge::{Calibration, Knowledge, Learned};
use crate::source::SourceError;
use task::Task;

/// Why nothing could be fitted.
#[derive(Debug, Error)]
pub enum FitError {
    /// The labelled cases cannot be used.
    #[error(transparent)]
    Labels(#[from] LabelError),
    /// A case's file cannot be read.
    #[error("{case}: {error}")]
    Source {
        /// The case.
        case: String,
        /// The file that cannot be read, and why.
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

/// Weights, a calibration, and their scores.
#[derive(Debug, Clone)]
pub struct Fitted {
    /// The weights for phases; `None` if only causes were learned.
    pub phases: Option<Learned>,
    /// The weights for causes.
    pub causes: Learned,
    /// The calibration of confidence.
    pub calibration: Calibration,
    /// The number of cases in the folders.
    pub cases: usize,
    /// The number of cases fitted on: those with an incident and a label.
    pub fitted: usize,
    /// The number of their origins.
    pub groups: usize,
    /// The score of the weights that people wrote.
    pub written: Tally,
    /// The score if each repository is answered by weights fitted without it.
    pub repositories: Tally,
    /// The score if each framework is answered by weights fitted without it.
    pub frameworks: Tally,
    /// The first diagnoses of left-out repositories, by their share alone.
    pub before: Vec<Forecast>,
    /// The same, calibrated on the others.
    pub calibrated: Vec<Forecast>,
}

/// Fits on the labelled cases in `folders`, each with a file `label` or one of the usual names, starting from what
/// people wrote in `knowledge`. The rules' examples and the cases in `kept` hold their answers in place and are not
/// counted.
pub fn fit(
    folders: &[PathBuf],
    kept: &[PathBuf],
    label: Option<&str>,
    learn: Learn,
    knowledge: Arc<Knowledge>,
) -> Result<Fitted, FitError> {
    let (cases, exhibits) = exhibit::read(folders, label, &knowledge)?;
    if exhibits.is_empty() {
        return Err(FitError::NothingLabelled(cases));
    }
    let mut examples = exhibit::of_rules(&knowledge)?;
    let (_, kept) = exhibit::read(kept, label, &knowledge)?;
    examples.extend(kept.into_iter().map(|kept| Exhibit { weight: exhibit::KEPT, ..kept }));
    Ok(fitted(cases, exhibits, examples, learn, &knowledge))
}

/// Which weights are learned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Learn {
    /// Those for phases and for causes.
    Both,
    /// Those for causes only; those for phases stay as people wrote them.
    Causes,
}

fn fitted(
    cases: usize,
    mut exhibits: Vec<Exhibit>,
    examples: Vec<Exhibit>,
    learn: Learn,
    knowledge: &Knowledge,
) -> Fitted {
    let count = exhibits.len();
    exhibits.extend(examples);
    let (all, exhibits) = (&exhibits[..], &exhibits[..count]);
    let by_group: Vec<usize> = exhibits.iter().map(|exhibit| cross_validation::fold(&exhibit.group)).collect();
    let phase_task = Task::of_phases(all, &knowledge.ranking.written);
    let written_phases = phase_task.written();
    let as_written = {
        let task = Task::of_causes(all, &written_phases, knowledge);
        (written_phases, task)
    };
    // Causes are predicted from phases that were predicted for left-out cases; examples are never left out.
    let without = |folds: &[usize]| {
        (learn == Learn::Both).then(|| {
            let examples = as_written.0[count..].iter().cloned();
            let phases: Vec<Vec<f64>> = phase_task.left_out(folds).into_iter().chain(examples).collect();
            let task = Task::of_causes(all, &phases, knowledge);
            (phases, task)
        })
    };
    let tally = |(phases, causes): &(Vec<Vec<f64>>, Task), shares: &[Vec<f64>]| {
        cross_validation::tally(exhibits, &phase_task.named(phases), &causes.named(shares))
    };
    let written = tally(&as_written, &as_written.1.written());
    let of_repositories = without(&by_group);
    let of_repositories = of_repositories.as_ref().unwrap_or(&as_written);
    let cause_task = &of_repositories.1;
    let causes_left_out = cause_task.left_out(&by_group);
    let repositories = tally(of_repositories, &causes_left_out);
    let by_framework: Vec<usize> = cross_validation::numbers(exhibits.iter().map(|exhibit| exhibit.framework.as_str()));
    let of_frameworks = without(&by_framework);
    let of_frameworks = of_frameworks.as_ref().unwrap_or(&as_written);
    let frameworks = tally(of_frameworks, &of_frameworks.1.left_out(&by_framework));
    let answered = cross_validation::answered(exhibits, &cause_task.named(&causes_left_out));
    let calibration = calibration::fit(&answered);
    let calibrated = cross_validation::calibrated(&answered);
    Fitted {
        phases: (learn == Learn::Both).then(|| phase_task.fit()),
        causes: cause_task.fit(),
        cases,
        fitted: exhibits.len(),
        groups: exhibits.iter().map(|exhibit| &*exhibit.group).collect::<BTreeSet<_>>().len(),
        written,
        repositories,
        frameworks,
        before: answered.iter().map(|answer| (answer.share, answer.is_right)).collect(),
        calibrated,
        calibration,
    }
}
