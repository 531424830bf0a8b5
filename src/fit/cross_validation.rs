use std::collections::BTreeMap;
use std::sync::Arc;

use sha2::{Digest, Sha256};

use super::calibration::{self, FirstDiagnosis};
use super::exhibit::Exhibit;
use super::reliability::Forecast;
use crate::diagnosis::UNKNOWN;

/// The number of folds that are left out in turn.
const FOLDS: u64 = 10;

/// Counts of right answers.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Tally {
    /// All answers.
    pub all: usize,
    /// Phases that a fair expert would accept.
    pub phase: usize,
    /// Phases that are the label itself.
    pub phase_exact: usize,
    /// First causes that a fair expert would accept.
    pub cause: usize,
    /// First causes that are the label itself.
    pub cause_exact: usize,
    /// Acceptable causes among the first three; `unknown` counts only in the first place.
    pub cause_of_three: usize,
}

type Named = [Vec<(Arc<str>, f64)>];

/// The fold in which `group` is left out; the same on every machine.
pub(super) fn fold(group: &str) -> usize {
    let digest = Sha256::digest(group.as_bytes());
    let number = digest.iter().take(8).fold(0u64, |number, byte| number << 8 | u64::from(*byte));
    (number % FOLDS) as usize
}

/// Numbers names consecutively; equal names get the same number.
pub(super) fn numbers<'n>(names: impl Iterator<Item = &'n str>) -> Vec<usize> {
    let mut known: BTreeMap<&str, usize> = BTreeMap::new();
    names
        .map(|name| {
            let next = known.len();
            *known.entry(name).or_insert(next)
        })
        .collect()
}

/// Counts right answers; each list is ordered by likelihood.
pub(super) fn tally(exhibits: &[Exhibit], phases: &Named, causes: &Named) -> Tally {
    let mut tally = Tally::default();
    for ((exhibit, phases), causes) in exhibits.iter().zip(phases).zip(causes) {
        tally.all += 1;
        let right = |place: usize, cause: &str| {
            exhibit.causes.iter().any(|label| *label == *cause) && (place == 0 || cause != UNKNOWN)
        };
        if let Some((phase, _)) = phases.first() {
            tally.phase += usize::from(exhibit.phases.iter().any(|label| *label.as_str() == **phase));
            tally.phase_exact += usize::from(exhibit.phases.first().is_some_and(|label| *label.as_str() == **phase));
        }
        if let Some((cause, _)) = causes.first() {
            tally.cause += usize::from(right(0, cause));
            tally.cause_exact += usize::from(exhibit.causes.first().is_some_and(|label| **label == **cause));
        }
        let named = causes.iter().enumerate().filter(|(place, (cause, _))| *place == 0 || **cause != *UNKNOWN);
        tally.cause_of_three += usize::from(named.take(3).any(|(place, (cause, _))| right(place, cause)));
    }
    tally
}

/// The first diagnosis of each exhibit, and whether it is right.
pub(super) fn answered(exhibits: &[Exhibit], causes: &Named) -> Vec<FirstDiagnosis> {
    let answer = |(exhibit, causes): (&Exhibit, &Vec<(Arc<str>, f64)>)| {
        let (cause, share) = causes.first()?;
        Some(FirstDiagnosis {
            name: exhibit.name.clone(),
            group: exhibit.group.clone(),
            kind: exhibit.kind,
            share: *share,
            is_unknown: **cause == *UNKNOWN,
            is_right: exhibit.causes.iter().any(|label| **label == **cause),
        })
    };
    exhibits.iter().zip(causes).filter_map(answer).collect()
}

/// The confidence in each of `answers`, by a calibration fitted on the other folds.
pub(super) fn calibrated(answers: &[FirstDiagnosis]) -> Vec<Forecast> {
    let mut forecasts = Vec::new();
    for part in 0..FOLDS as usize {
        let (own, others): (Vec<FirstDiagnosis>, Vec<FirstDiagnosis>) =
            answers.iter().cloned().partition(|answer| fold(&answer.group) == part);
        let calibration = calibration::fit(&others);
        forecasts.extend(
            own.into_iter()
                .map(|answer| (calibration.confidence(answer.share, answer.kind, answer.is_unknown), answer.is_right)),
        );
    }
    forecasts
}
