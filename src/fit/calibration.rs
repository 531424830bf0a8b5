//! Fits the calibration under which the labelled answers are most likely.

use std::collections::BTreeSet;

use crate::knowledge::{Calibration, log_odds, logistic};
use crate::model::Kind;

/// The first diagnosis of a labelled incident.
#[derive(Debug, Clone, PartialEq)]
pub struct FirstDiagnosis {
    /// The case.
    pub name: String,
    /// The origin of the case.
    pub group: String,
    /// The incident's kind, as oomdoc sees it.
    pub kind: Kind,
    /// The diagnosis's share of all odds, 0–1.
    pub share: f64,
    /// Whether the diagnosis is that the cause is unknown.
    pub is_unknown: bool,
    /// Whether it is the label, or another answer that a fair expert would accept.
    pub is_right: bool,
}

/// The share of labels assumed to be wrong: two people who label the same incidents disagree on the cause of one in
/// twenty. It limits the confidence that any number of right answers can give.
const DOUBT: f64 = 0.05;

/// The L2 penalty on each number's distance from its value without data, as a multiple of ½ × its square: the few
/// incidents of one kind move its own offset little, all incidents together move the common numbers.
const PENALTY_SLOPE: f64 = 4.0;
const PENALTY_OFFSET: f64 = 0.5;
const PENALTY_UNKNOWN: f64 = 2.0;
const PENALTY_KIND: f64 = 4.0;

/// The calibration under which `answers` are most likely, with a penalty that holds it near the neutral one; without
/// answers, the neutral one.
///
/// Uses Newton's method, one number at a time. The loss is convex, so this ends at its only optimum.
pub fn fit(answers: &[FirstDiagnosis]) -> Calibration {
    let kinds: Vec<_> = answers.iter().map(|answer| answer.kind).collect::<BTreeSet<_>>().into_iter().collect();
    let start = |place: usize| if place == 0 { 1.0 } else { 0.0 };
    let penalty = |place: usize| *[PENALTY_SLOPE, PENALTY_OFFSET, PENALTY_UNKNOWN].get(place).unwrap_or(&PENALTY_KIND);
    let rows: Vec<(Vec<f64>, f64)> = answers
        .iter()
        .map(|answer| {
            let mut row = vec![log_odds(answer.share), 1.0, f64::from(answer.is_unknown)];
            row.extend(kinds.iter().map(|kind| f64::from(*kind == answer.kind)));
            (row, if answer.is_right { 1.0 - DOUBT } else { DOUBT })
        })
        .collect();
    let mut numbers: Vec<f64> = (0..3 + kinds.len()).map(start).collect();
    for _ in 0..MOST_ROUNDS {
        let mut moved = 0.0_f64;
        for place in 0..numbers.len() {
            let mut slope = penalty(place) * (numbers[place] - start(place));
            let mut curvature = penalty(place);
            for (row, target) in rows.iter().filter(|(row, _)| row[place] != 0.0) {
                let said = logistic(row.iter().zip(&numbers).map(|(part, number)| part * number).sum());
                slope += (said - target) * row[place];
                curvature += said * (1.0 - said) * row[place] * row[place];
            }
            // A full step may overshoot where the curve is flat.
            let step = (slope / curvature).clamp(-1.0, 1.0);
            numbers[place] -= step;
            moved = moved.max(step.abs());
        }
        if moved < PRECISION {
            break;
        }
    }
    Calibration {
        slope: numbers[0].max(FLATTEST),
        offset: numbers[1],
        unknown_offset: numbers[2],
        kind_offset: kinds.into_iter().zip(numbers.into_iter().skip(3)).collect(),
    }
}

const MOST_ROUNDS: usize = 10_000;
const PRECISION: f64 = 1e-9;
/// The least slope: higher odds never mean less confidence.
const FLATTEST: f64 = 0.05;

#[cfg(test)]
mod tests {
    use super::*;

    /// `of` answers with this share, of which `right` are right.
    fn answers(kind: Kind, share: f64, right: usize, of: usize) -> Vec<FirstDiagnosis> {
        let answer = |place| FirstDiagnosis {
            name: format!("{kind}-{share}-{place}"),
            group: String::new(),
            kind,
            share,
            is_unknown: false,
            is_right: place < right,
        };
        (0..of).map(answer).collect()
    }

    #[test]
    fn nothing_known_changes_nothing() {
        assert_eq!(fit(&[]), Calibration::default());
    }

    #[test]
    fn many_answers_decide() {
        // Stating 0.5 while being right in three of four, and 0.8 while being right in nine of ten, is too modest.
        let mut known = answers(Kind::GpuOom, 0.5, 3000, 4000);
        known.extend(answers(Kind::GpuOom, 0.8, 3600, 4000));
        let calibration = fit(&known);
        for (share, right) in [(0.5, 0.75), (0.8, 0.9)] {
            let expected = right * (1.0 - DOUBT) + (1.0 - right) * DOUBT;
            let said = calibration.confidence(share, Kind::GpuOom, false);
            assert!((said - expected).abs() < 0.01, "{share}: {said}, not {expected}");
        }
    }

    #[test]
    fn few_answers_move_little_and_none_makes_sure() {
        let few = fit(&answers(Kind::ShmExhausted, 0.5, 2, 2)).confidence(0.5, Kind::ShmExhausted, false);
        let many = fit(&answers(Kind::ShmExhausted, 0.5, 9000, 9000)).confidence(0.5, Kind::ShmExhausted, false);
        assert!(few < 0.75 && many > 0.94 && many < 0.96, "{few} {many}");
    }

    #[test]
    fn a_kind_that_is_harder_is_told_apart() {
        let mut known = answers(Kind::GpuOom, 0.6, 100, 100);
        known.extend(answers(Kind::HostOomRay, 0.6, 50, 100));
        let calibration = fit(&known);
        let said = |kind| calibration.confidence(0.6, kind, false);
        assert!(said(Kind::GpuOom) > 0.8 && said(Kind::HostOomRay) < 0.65, "{calibration:?}");
    }

    #[test]
    fn more_odds_never_mean_less_confidence() {
        let mut known = answers(Kind::GpuOom, 0.3, 200, 200);
        known.extend(answers(Kind::GpuOom, 0.9, 0, 200));
        assert!(fit(&known).slope >= FLATTEST);
    }
}
