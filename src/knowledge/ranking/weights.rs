use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::WordRow;

/// The weights of signals for the answers to one question: those that people wrote, plus corrections learned from labelled incidents.
#[derive(Debug, Clone, Default)]
pub struct Weights {
    written: BTreeMap<Arc<str>, BTreeMap<Arc<str>, f64>>,
    learned: Learned,
}

/// What was learned from labelled incidents, as differences from the written weights. `oomdoc rules fit` writes it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Learned {
    /// The answers, in the order in which a signal's weights stand.
    pub answers: Vec<Arc<str>>,
    /// The log-odds of each answer before any signal.
    pub bias: BTreeMap<Arc<str>, f64>,
    /// What a rule's sign adds to the answer that it names, by the kind of sign; for causes by the row of evidence.
    pub vote: BTreeMap<Arc<str>, f64>,
    /// What a signal adds to each answer, in hundredths.
    pub signal: BTreeMap<String, Vec<i16>>,
}

/// The unit of a signal's learned weight.
const HUNDREDTH: f64 = 0.01;

impl Weights {
    /// The weights of the rows that `answer_of` gives an answer.
    fn written<'r>(rows: &'r [WordRow], answer_of: impl Fn(&'r WordRow) -> Option<Arc<str>>) -> Weights {
        let mut weights = Weights::default();
        for row in rows {
            let Some(answer) = answer_of(row) else { continue };
            for (place, word) in row.places.iter().flat_map(|place| row.words.iter().map(move |word| (place, word))) {
                let of_signal = weights.written.entry(Arc::from(format!("{place}:{word}"))).or_default();
                *of_signal.entry(answer.clone()).or_default() += row.log_odds;
            }
        }
        weights
    }

    /// The written weights for phases.
    pub fn of_phases(rows: &[WordRow]) -> Weights {
        Weights::written(rows, |row| row.phase.map(|phase| Arc::from(phase.as_str())))
    }

    /// The written weights for causes.
    pub fn of_causes(rows: &[WordRow]) -> Weights {
        Weights::written(rows, |row| row.cause.clone())
    }

    /// Adds the learned corrections.
    pub(in crate::knowledge) fn with(self, learned: Learned) -> Weights {
        Weights { learned, ..self }
    }

    /// The written weights, by signal.
    pub fn of_people(&self) -> &BTreeMap<Arc<str>, BTreeMap<Arc<str>, f64>> {
        &self.written
    }

    /// The learned log-odds of `answer` before any signal.
    pub fn bias(&self, answer: &str) -> f64 {
        self.learned.bias.get(answer).copied().unwrap_or(0.0)
    }

    /// The weight of a vote of `kind` whose rule gives it the weight `written`.
    pub fn vote(&self, kind: &str, written: f64) -> f64 {
        written + self.learned.vote.get(kind).copied().unwrap_or(0.0)
    }

    /// The weights of the signal `name` for each answer.
    pub fn signal(&self, name: &str) -> impl Iterator<Item = (&str, f64)> {
        let written = self.written.get(name).into_iter().flatten().map(|(answer, weight)| (&**answer, *weight));
        let row = self.learned.signal.get(name).into_iter().flatten();
        let learned = self.learned.answers.iter().zip(row).filter(|(_, weight)| **weight != 0);
        written.chain(learned.map(|(answer, weight)| (&**answer, f64::from(*weight) * HUNDREDTH)))
    }

    /// The weight of the signal `name` for `answer`.
    pub fn of(&self, name: &str, answer: &str) -> f64 {
        self.signal(name).filter(|(of, _)| *of == answer).map(|(_, weight)| weight).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_learned_adds_to_what_is_written() {
        let learned = Learned {
            answers: vec!["forward".into(), "inference".into()],
            vote: [(Arc::from("mark"), -0.5)].into(),
            signal: [("near:epoch".to_owned(), vec![25, -10])].into(),
            ..Learned::default()
        };
        let rows = [WordRow {
            places: vec!["near".into()],
            words: vec!["epoch".into()],
            phase: Some(crate::model::Phase::Forward),
            cause: None,
            log_odds: 1.0,
        }];
        let weights = Weights::of_phases(&rows).with(learned);
        assert!((weights.of("near:epoch", "forward") - 1.25).abs() < 1e-9);
        assert!((weights.of("near:epoch", "inference") + 0.1).abs() < 1e-9);
        assert!((weights.vote("mark", 2.0) - 1.5).abs() < 1e-9);
    }
}
