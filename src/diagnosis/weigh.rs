//! Sums the weights of signals.

use std::collections::BTreeMap;

use crate::knowledge::Weights;
use crate::model::Citation;
use crate::signals::Signals;

/// Lines with less weight than this are not shown as evidence.
const LEAST: f64 = 0.1;

/// The sum of the signals' weights for each answer.
pub(super) fn sums<'w>(signals: &Signals, weights: &'w Weights) -> BTreeMap<&'w str, f64> {
    let mut sums = BTreeMap::new();
    for (name, signal) in signals.iter() {
        for (answer, weight) in weights.signal(name) {
            *sums.entry(answer).or_default() += weight * signal.strength;
        }
    }
    sums
}

/// At most `most` lines with the largest weights for `answer`, strongest first.
pub(super) fn spoke_for(answer: &str, signals: &Signals, weights: &Weights, most: usize) -> Vec<Citation> {
    let mut by_line: BTreeMap<&Citation, f64> = BTreeMap::new();
    for (name, signal) in signals.iter() {
        if let Some(cite) = &signal.cite {
            *by_line.entry(cite).or_default() += weights.of(name, answer) * signal.strength;
        }
    }
    let mut lines: Vec<(&Citation, f64)> = by_line.into_iter().filter(|(_, weight)| *weight > LEAST).collect();
    lines.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(b.0)));
    lines.into_iter().take(most).map(|(cite, _)| cite.clone()).collect()
}

/// Log-odds as shares of the sum of all odds (softmax), in the same order.
pub(crate) fn shares(scores: &[f64]) -> Vec<f64> {
    let highest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let odds: Vec<f64> = scores.iter().map(|score| (score - highest).exp()).collect();
    let all: f64 = odds.iter().sum();
    odds.into_iter().map(|odds| odds / all).collect()
}
