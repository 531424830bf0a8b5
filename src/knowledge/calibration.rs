use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::model::Kind;

/// `rules/calibration.toml`: how sure to be of a first diagnosis, by its share of all odds.
///
/// The log-odds of being right are `slope × ln(share ÷ (1 − share)) + offset`, with another offset if the first diagnosis is `unknown` and
/// one for the incident's kind (Platt, "Probabilistic outputs for support vector machines", 1999). The default changes nothing. The numbers
/// are fitted by `oomdoc rules fit`, see docs/accuracy.md.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Calibration {
    /// Multiplies the log-odds of the share; above 0, so that more odds never mean less confidence.
    pub slope: f64,
    /// Added always.
    pub offset: f64,
    /// Added if `unknown` is first.
    pub unknown_offset: f64,
    /// Added for incidents of a kind.
    pub kind_offset: BTreeMap<Kind, f64>,
}

impl Default for Calibration {
    fn default() -> Calibration {
        Calibration { slope: 1.0, offset: 0.0, unknown_offset: 0.0, kind_offset: BTreeMap::new() }
    }
}

impl Calibration {
    /// How sure (0–1) to be of the first diagnosis of an incident of `kind` that has `share` (0–1) of all odds.
    pub fn confidence(&self, share: f64, kind: Kind, is_unknown: bool) -> f64 {
        let of_kind = self.kind_offset.get(&kind).copied().unwrap_or(0.0);
        let of_unknown = if is_unknown { self.unknown_offset } else { 0.0 };
        logistic(self.slope * log_odds(share) + self.offset + of_unknown + of_kind)
    }

    /// What is wrong with it, if anything.
    pub(super) fn problem(&self) -> Option<&'static str> {
        let mut offsets = [self.offset, self.unknown_offset].into_iter().chain(self.kind_offset.values().copied());
        if !(self.slope.is_finite() && self.slope > 0.0) {
            return Some("`slope` must be a number above 0");
        }
        (!offsets.all(f64::is_finite)).then_some("every offset must be a number")
    }
}

/// `ln(share ÷ (1 − share))`; finite even if one cause has all odds.
pub fn log_odds(share: f64) -> f64 {
    const LEAST: f64 = 1e-9;
    let share = share.clamp(LEAST, 1.0 - LEAST);
    (share / (1.0 - share)).ln()
}

/// The share that has these log-odds.
pub fn logistic(log_odds: f64) -> f64 {
    1.0 / (1.0 + (-log_odds).exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_nothing_by_default() {
        for share in [0.01, 0.3, 0.5, 0.97] {
            let confidence = Calibration::default().confidence(share, Kind::GpuOom, true);
            assert!((confidence - share).abs() < 1e-12, "{share} became {confidence}");
        }
    }

    #[test]
    fn adds_what_the_kind_and_not_knowing_call_for() {
        let calibration = Calibration {
            slope: 0.5,
            offset: 1.0,
            unknown_offset: -0.5,
            kind_offset: BTreeMap::from([(Kind::GpuOom, 0.25)]),
        };
        let log_odds_of = |kind, is_unknown| log_odds(calibration.confidence(0.5, kind, is_unknown));
        assert!((log_odds_of(Kind::HostOomRay, false) - 1.0).abs() < 1e-9);
        assert!((log_odds_of(Kind::GpuOom, true) - 0.75).abs() < 1e-9);
        assert!(calibration.confidence(1.0, Kind::GpuOom, false) < 1.0);
    }

    #[test]
    fn refuses_what_would_turn_the_order_around() {
        let slope = |slope| Calibration { slope, ..Calibration::default() }.problem();
        assert_eq!(slope(1.0), None);
        assert!(slope(0.0).is_some() && slope(-1.0).is_some() && slope(f64::NAN).is_some());
        assert!(Calibration { offset: f64::INFINITY, ..Calibration::default() }.problem().is_some());
    }
}
