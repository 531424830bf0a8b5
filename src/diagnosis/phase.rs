//! Decides the phase: a distribution over phases, of which the report names the likeliest.
//!
//! Each sign that a row of `rules/phases/` found votes for its phase with the weight of its route; every other signal adds its weight. So a
//! row that knows the program outweighs words, and without one words decide.

use super::weigh::{shares, spoke_for, sums};
use crate::incident::{FoundIncident, PhaseSign, Route};
use crate::knowledge::Weights;
use crate::model::{Basis, Citation, Phase, PhaseFinding};
use crate::signals::Signals;

/// Most lines of evidence for a phase.
const MOST_EVIDENCE: usize = 4;
/// The score of `unknown`, which the evidence for a phase has to outweigh.
pub const NOT_KNOWING: f64 = 1.0;
/// The penalty for a phase that comes before training, if training steps had passed.
const PASSED: f64 = 1.0;
/// The penalty for `inference` then: what a training job generates with is `rollout` or `evaluation`.
const TRAINED: f64 = 2.5;
/// The score of the phase that makes up the whole of the program that was started, if nothing else names a phase.
const STARTED: f64 = 1.2;
/// The signal of such a program, before the name of the phase.
const WHOLE: &str = "fact:job.phase=";
/// The signal of a program that only serves.
const SERVER: &str = "fact:job.server=true";
/// The signal of a program that runs a model, by the words of its command or by its name.
const RUNS: &str = "fact:job.serves=true";
/// The signal of a job that trains a policy on what it generates.
const POLICY: &str = "fact:job.trains_policy=true";
/// The signal of compilers at work, which have no phase of a model.
const BUILD: &str = "fact:job.build=true";
/// The penalty for phases of a model then.
const NO_MODEL: f64 = 3.0;
/// The penalty for phases of training, if a program only serves.
const NEVER_TRAINS: f64 = 2.0;
/// The name of the additional vote for the phase of the most decisive route.
const FIRST: &str = "first";

/// The weight of a route's vote before anything is fitted.
fn written(route: Route) -> f64 {
    match route {
        Route::Enclosing => 5.0,
        Route::Operation => 4.5,
        Route::Message => 3.5,
        Route::Method => 3.0,
        Route::OthersEnclosing => 2.5,
        Route::Mark => 2.2,
        Route::OthersOperation => 1.5,
        Route::Beside => 0.7,
        Route::EndedMark => 0.2,
    }
}

/// The factor of a sign's vote, 0–1: rows for lines state how confident they are.
fn surely(sign: &PhaseSign) -> f64 {
    const SURE: f64 = 0.7;
    match sign.route {
        Route::Message | Route::Mark | Route::EndedMark => (sign.confidence / SURE).min(1.0),
        _ => 1.0,
    }
}

/// The votes for phases: name, phase, and weight before anything is fitted.
pub fn votes(found: &FoundIncident) -> impl Iterator<Item = (&'static str, Phase, f64)> {
    let first = found.signs.iter().find(|sign| sign.route.decides());
    let first = first.map(|sign| (FIRST, sign.phase, 2.0 * surely(sign)));
    found.signs.iter().map(|sign| (sign.route.as_str(), sign.phase, written(sign.route) * surely(sign))).chain(first)
}

pub fn phase(found: &FoundIncident, signals: &Signals, weights: &Weights) -> PhaseFinding {
    let sums = sums(signals, weights);
    let says = |fact: &str| signals.iter().any(|(name, _)| name == fact);
    let (is_server, is_policy, is_build) = (says(SERVER), says(POLICY), says(BUILD));
    let runs = is_server || says(RUNS) && found.steps == 0;
    let mut scores: Vec<f64> = Phase::ALL
        .iter()
        .map(|phase| {
            let written = match phase {
                Phase::Unknown => NOT_KNOWING,
                phase if is_build && !matches!(phase, Phase::Setup | Phase::Teardown) => -NO_MODEL,
                phase if found.steps > 0 && phase.comes_before_steps() => -PASSED,
                Phase::Inference if found.steps > 0 => -TRAINED,
                Phase::Forward | Phase::Backward | Phase::OptimizerStep | Phase::Evaluation if is_server => {
                    -NEVER_TRAINS
                }
                _ => 0.0,
            };
            written + weights.bias(phase.as_str()) + sums.get(phase.as_str()).copied().unwrap_or(0.0)
        })
        .collect();
    for (name, phase, written) in votes(found) {
        let phase = match phase {
            // A forward pass of a program that only serves or runs a model is a request's.
            Phase::Forward if runs => Phase::Inference,
            // What a policy generates while it is trained are its samples.
            Phase::Inference if is_policy => Phase::Rollout,
            phase => phase,
        };
        if let Some(place) = Phase::ALL.iter().position(|known| *known == phase) {
            scores[place] += weights.vote(name, written);
        }
    }
    let mut ranked = ranking(&scores);
    let is_unknown = found.steps == 0 && ranked.first().is_some_and(|(phase, _)| *phase == Phase::Unknown);
    let started = || signals.iter().find_map(|(name, _)| name.strip_prefix(WHOLE));
    if let Some(started) = is_unknown.then(started).flatten().filter(|started| *started != Phase::Unknown.as_str()) {
        let own = Phase::ALL.iter().zip(&mut scores).filter(|(phase, _)| phase.as_str() == started);
        own.for_each(|(_, score)| *score += STARTED);
        ranked = ranking(&scores);
    }
    let finding = PhaseFinding::ranked(&ranked);
    let name = finding.name;
    let sign = found.signs.iter().find(|sign| sign.phase == name);
    let mut evidence: Vec<Citation> = sign.map(|sign| sign.evidence.clone()).unwrap_or_default();
    if name != Phase::Unknown {
        for cite in spoke_for(name.as_str(), signals, weights, MOST_EVIDENCE) {
            if evidence.len() < MOST_EVIDENCE && !evidence.contains(&cite) {
                evidence.push(cite);
            }
        }
    }
    PhaseFinding {
        site: sign.map(|sign| sign.site.to_string()),
        evidence,
        basis: if sign.is_some() { Basis::Grammar } else { Basis::Reader },
        ..finding
    }
}

/// The phases with their shares of the odds, likeliest first. The order of the vocabulary decides between equals.
fn ranking(scores: &[f64]) -> Vec<(Phase, f64)> {
    let mut ranked: Vec<(Phase, f64)> = Phase::ALL.iter().copied().zip(shares(scores)).collect();
    ranked.sort_by(|a, b| b.1.total_cmp(&a.1));
    ranked
}

/// The possible phases of `finding`, with shares that sum to 1.
pub fn likely(finding: &PhaseFinding) -> Vec<(Phase, f64)> {
    const MOST: usize = 4;
    // If the phase is unknown, causes are evaluated with `unknown` only.
    if finding.name == Phase::Unknown {
        return vec![(Phase::Unknown, 1.0)];
    }
    let first = std::iter::once((finding.name, finding.confidence.max(f64::MIN_POSITIVE)));
    let others = finding.alternatives.iter().map(|other| (other.name, other.confidence));
    let mut all: Vec<(Phase, f64)> = first.chain(others).take(MOST).collect();
    let sum: f64 = all.iter().map(|(_, share)| share).sum();
    all.iter_mut().for_each(|(_, share)| *share /= sum);
    all
}
